/* SPDX-License-Identifier: MIT */
#pragma once
/* What a job sees of the host's files: a root of its own with the system's programs and libraries
 * read-only, a minimal /etc, five device nodes, its own /proc, its bench at /bench, and the
 * directories that it asked for. Each jail builds its view once, in two mount namespaces: one shows
 * what the host shows and is the source for later additions, the other is where jobs run. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* User and group of the jail and its jobs inside the jail's user namespace. */
#define VIEW_UID 1000
#define VIEW_GID 1000
/* Paths in the view. */
#define VIEW_WORK "/work"
#define VIEW_BENCH "/bench"

struct view {
    int host;      /* the mount namespace that shows what the host shows */
    int own;       /* the mount namespace in which jobs run */
    int root;      /* the view's root directory, writable; jobs see it read-only */
    int proc;      /* a /proc of the jail's pid namespace that hides no process, attached nowhere;
                      -1: there is none, and /proc is the host's */
    int names;     /* of the jobs' /proc, for mounts_forget(); -1: not yet open */
    time_t read;   /* when view_renew_proc() has read what the kernel dates once a day */
    uint64_t pass; /* see mounts.h */
};

#define VIEW_NULL                                                  \
    {                                                              \
        .host = -1, .own = -1, .root = -1, .proc = -1, .names = -1 \
    }

struct view_options {
    const char *mountpoint; /* an existing host directory; covered while the view is made */
    char *const *readable;  /* NULL-terminated: further host paths that every job may read */
    uid_t uid;              /* of the user `job`, whose home is the work directory */
    bool own_proc;          /* mount a new /proc; takes an own pid namespace */
    bool network;           /* show the files that name resolution needs */
    bool bounds_memory;     /* a control group counts memory that processes share; otherwise
                               /dev/zero cannot be mapped */
    uint64_t pass;          /* authorises later changes (mounts.h) */
};

/* NULL-terminated lists of host paths that the view shows at the same place. Each is a directory or
 * a file, and may be missing or a symbolic link. */
extern const char *const view_system[];  /* relative to / */
extern const char *const view_etc[];     /* relative to /etc */
extern const char *const view_etc_net[]; /* the same, for jobs that may use the network */
extern const char *const view_devices[]; /* relative to /dev */

/* Moves this process into a new view, which has no work directory yet (work.h). The process must be
 * alone in its mount namespace and have CAP_SYS_ADMIN over it. On failure *ret_step names the step
 * that failed, and the process still sees the host. */
int view_enter(struct view *view, const struct view_options *options, const char **ret_step);

/* Makes the view read-only. From then on only the jail can change it, by view->root. */
int view_seal(const struct view *view);

/* Makes the view, of which this process has a copy in a mount namespace of its own, that of a twin
 * (twin.h): with OWN_PROC its /proc shows this process's pid namespace. A negative errno. */
int view_enter_twin(struct view *view, bool own_proc);

/* Makes the jobs' /proc forget what earlier jobs have looked up, once no process of them lives. The
 * kernel dates what belongs to no process, as /proc/sys/..., when it is looked up first, and so one
 * job could tell the next what it had looked up. Has no effect where /proc is the host's. On
 * failure, a negative errno, no job may follow. */
int view_renew_proc(struct view *view);

/* Returns whether the absolute PATH lies in /tmp of the view, by either of its names (/tmp,
 * /var/tmp). */
bool view_is_tmp(const char *path);

/* Attaches TREE (mounts.h; borrowed) at TARGET, an absolute path of the view. Makes what is missing
 * on the way. *ret_kept (NULL: not wanted) is for view_detach(). A negative errno. */
int view_attach(const struct view *view, int tree, const char *target, size_t *ret_kept);

/* Detaches what was attached last at TARGET, and removes what was made for it: all but the first
 * KEPT bytes of TARGET. A negative errno. */
int view_detach(const struct view *view, const char *target, size_t kept);

/* Clones the directory or file PATH of the host as a read-only tree for view_attach(); the caller
 * owns the descriptor. Follows no symbolic link in PATH. If something is mounted beneath PATH,
 * clones that too with RECURSIVE and fails with -EINVAL otherwise. */
int view_fetch(const struct view *view, const char *path, bool recursive);

/* Attaches TREE (borrowed) at the host path PLACE where only view_take() finds it, and the host
 * does not. A negative errno. */
int view_put_by(const struct view *view, int tree, const char *place);

/* Clones what NAME is in the tree that was put by at PLACE, with ATTRIBUTES (MOUNT_ATTR_*), for
 * attaching it here or in a twin; the caller owns the descriptor. */
int view_take(const struct view *view, const char *place, const char *name, uint64_t attributes);
