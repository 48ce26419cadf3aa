/* SPDX-License-Identifier: MIT */
#pragma once
/* What a job sees of the host's files: a root of its own with the system's programs and libraries
 * read-only, a minimal /etc, five device nodes, its own /proc, and what is shown to it (its bench
 * at /bench, directories that it asked for). Built once per jail, in two mount namespaces: one that
 * looks as the host does, from which more can be fetched later, and one that jobs live in. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Identities in the jail's user namespace: of the jail and its jobs. */
#define VIEW_UID 1000
#define VIEW_GID 1000
/* Where things stand in the view. */
#define VIEW_WORK "/work"
#define VIEW_BENCH "/bench"

struct view {
    int host;      /* the mount namespace that looks as the host does */
    int own;       /* that of the jobs */
    int root;      /* the view's root directory, writable; jobs see it read-only */
    uint64_t pass; /* see mounts.h */
};

#define VIEW_NULL                         \
    {                                     \
        .host = -1, .own = -1, .root = -1 \
    }

struct view_options {
    const char *mountpoint; /* an existing directory of the host, covered for a moment */
    char *const *readable;  /* NULL-terminated: further host paths that every job may read */
    bool own_proc;          /* there is a pid namespace to make a /proc of */
    bool network;           /* what resolves names is shown too */
    uint64_t pass;          /* what changing the view later takes (mounts.h) */
};

/* The host's paths that are shown at their own place: directories and files that may be missing
 * or links. NULL-terminated. */
extern const char *const view_system[];  /* relative to / */
extern const char *const view_etc[];     /* relative to /etc */
extern const char *const view_etc_net[]; /* the same, for jobs that may use the network */
extern const char *const view_devices[]; /* relative to /dev */

/* Moves this process, alone in a mount namespace over which it has CAP_SYS_ADMIN, into a view with
 * no work directory yet (work.h). On failure *ret_step says what could not be done, and the process
 * still sees the host. */
int view_enter(struct view *view, const struct view_options *options, const char **ret_step);

/* Makes the view read-only; after this the jail alone can change it, by view->root. */
int view_seal(const struct view *view);

/* Whether the absolute PATH lies in the /tmp of the view, by either of its names. */
bool view_is_tmp(const char *path);

/* Attaches TREE (mounts.h; borrowed) at TARGET, an absolute path of the view whose directories are
 * made where they are missing. */
int view_attach(const struct view *view, int tree, const char *target);

/* Copies the directory or file PATH of the host as a read-only tree for view_attach(). No link in
 * PATH is followed. Where something is mounted beneath a directory: -EINVAL, or, if RECURSIVE, that
 * comes along. */
int view_fetch(const struct view *view, const char *path, bool recursive);
