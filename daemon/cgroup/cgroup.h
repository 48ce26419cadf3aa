/* SPDX-License-Identifier: MIT */
#pragma once
/* The room daemon/cgroup. Duty: divide the control group (version 2) that is delegated to the
 * daemon, and give each job a leaf of it.
 *
 * May include: proto. The functions operate on descriptors and names; they know nothing of jobs,
 * jails or the event loop, and log nothing.
 *
 * Theory of operation. The delegated subtree is divided like this:
 *
 *     GROUP              the delegated group, without a process: a unit with Delegate=yes, say
 *     GROUP/daemon       this process and its jails
 *     GROUP/jobs         no process; has the same weight as `daemon`, whatever the jobs do
 *     GROUP/jobs/job-N   one job: its program and all descendants, until the leaf is removed
 *
 * For each job:
 *
 *     cgroup_leaf_create();  the program is forked into leaf.fd (jail/cgroup_fork.h)
 *     ... it ends, or cgroup_leaf_kill() ends it and its whole tree ...
 *     cgroup_leaf_read();    usage and evidence disappear with the leaf
 *     cgroup_leaf_remove();  -EBUSY while a process in it lives or dies: try again later
 *
 * Invariants:
 *  - Every operation goes through a descriptor below GROUP, with names that are made here.
 *  - Nothing that a job can write leads here. The files of a leaf belong to the daemon's user, as
 *    which jobs run; so a job's view has no writable cgroup2, and leaf.fd is closed in the job.
 *  - No function blocks but cgroup_tree_open(), for at most CGROUP_SETTLE_MS between two events
 *    if a predecessor left processes behind. */

#include "proto/fault.h"

#include <stdbool.h>
#include <stdint.h>

/* Time that leftover processes of a killed predecessor have to die. */
#define CGROUP_SETTLE_MS 5000
/* "job-" and a 64-bit number. */
#define CGROUP_NAME_MAX 32
#define CGROUP_UNLIMITED UINT64_MAX

/* Optional: without any, the tree still kills jobs and counts their CPU time. */
enum cgroup_controller {
    CGROUP_MEMORY,
    CGROUP_PIDS,
    CGROUP_CPU, /* jobs share the CPU evenly, however many processes each has; cpu.max works */
    CGROUP_CONTROLLERS,
};

struct cgroup_tree {
    int group_fd;                     /* GROUP; holds the lock that excludes other daemons */
    int fd;                           /* GROUP/jobs; -1: no tree */
    bool has[CGROUP_CONTROLLERS];     /* controllers of the leaves */
    bool enabled[CGROUP_CONTROLLERS]; /* controllers enabled here, disabled again at the end */
    bool own_leaf; /* this process was moved to GROUP/daemon and moves back at the end */
};
#define CGROUP_TREE_NULL         \
    {                            \
        .group_fd = -1, .fd = -1 \
    }

/* Finds this process's group and checks that the daemon may divide it; moves this process to its
 * leaf `daemon`; enables the available controllers; removes what a killed predecessor left. If this
 * process is in a leaf `daemon` already (systemd's DelegateSubgroup=daemon), divides the group
 * above.
 *
 * Call it before any child is started, because only this process is moved, and after privileges are
 * dropped, because to root every group looks delegated. Until then the daemon must be the only
 * process of GROUP: a group with other processes is refused, since they are not the daemon's to
 * move.
 *
 * Returns 0, with FAULT empty or naming the controllers that leaves lack, and why. On failure
 * changes nothing and returns a negative errno with FAULT naming cause and remedy: -EBUSY if
 * another daemon uses the group or it has other processes; -EACCES or -EROFS if it is not
 * delegated; -ENOENT if there is no cgroup2. */
int cgroup_tree_open(struct cgroup_tree *ret, struct fault *fault);

/* Restores GROUP as far as no process is left in it. Accepts an empty tree. */
void cgroup_tree_close(struct cgroup_tree *tree);

/* Each limit is in force if the tree has its controller; the others are ignored. */
struct cgroup_limits {
    uint64_t memory_max;  /* bytes for the whole process tree, page cache and tmpfs files included;
                             no swap */
    uint64_t pids_max;    /* processes and threads */
    unsigned cpu_percent; /* percent of one CPU; 0: no limit */
};

struct cgroup_leaf {
    int fd; /* for clone3(CLONE_INTO_CGROUP); -1: no leaf */
    char name[CGROUP_NAME_MAX];
};
#define CGROUP_LEAF_NULL \
    {                    \
        .fd = -1         \
    }

/* Closes the descriptor of a leaf that is left where it is. Accepts one without. */
static inline void cgroup_leaf_close(struct cgroup_leaf *leaf)
{
    leaf->fd = close_fd(leaf->fd);
}

/* Creates a leaf for job JOB_NO. No leaf of that number may exist in the tree. On failure returns a
 * negative errno and leaves no leaf behind. If the leaf exceeds memory_max, the kernel kills all of
 * it (memory.oom.group). */
int cgroup_leaf_create(const struct cgroup_tree *tree, uint64_t job_no,
                       const struct cgroup_limits *limits, struct cgroup_leaf *ret);

/* Sends SIGKILL to everything in the leaf, including processes that fork meanwhile or left their
 * session; they die soon after. 0 or a negative errno. */
int cgroup_leaf_kill(const struct cgroup_leaf *leaf);

/* Evidence from the leaf's events. A bit does not make a job fail; it explains why a failed job
 * failed. */
enum cgroup_evidence {
    /* The kernel killed the job because it exceeded its own memory_max. */
    CGROUP_MEMORY_LIMIT = 1 << 0,
    /* Forks were refused because the job had reached its own pids_max. */
    CGROUP_PIDS_LIMIT = 1 << 1,
    /* The kernel killed the job because memory was short elsewhere: on the host, in the unit. That
     * says nothing about the job. */
    CGROUP_MEMORY_OUTSIDE = 1 << 2,
    /* Forks were refused because of another limit: the unit's TasksMax=, for example. */
    CGROUP_PIDS_OUTSIDE = 1 << 3,
};

struct cgroup_usage {
    uint64_t cpu_us;            /* of all processes that ever ran in the leaf */
    uint64_t memory_peak_bytes; /* UINT64_MAX: not known */
    unsigned evidence;          /* enum cgroup_evidence */
};

/* Reads usage and evidence of the leaf. 0 or a negative errno. */
int cgroup_leaf_read(const struct cgroup_tree *tree, const struct cgroup_leaf *leaf,
                     struct cgroup_usage *ret);

/* Reads the CPU time only, to enforce a limit on the whole tree's CPU time while it runs. */
int cgroup_leaf_read_cpu(const struct cgroup_leaf *leaf, uint64_t *ret_cpu_us);

/* Reads for how long the leaf had processes that were ready to run while none of them had a CPU.
 * The kernel brings the value up to date every two seconds. -ENOENT: the kernel has no such file
 * (no PSI), or no such line in it (before Linux 5.13). */
int cgroup_leaf_read_cpu_pressure(const struct cgroup_leaf *leaf, uint64_t *ret_us);

/* Returns 1 if a process in the leaf is alive (zombies do not count), 0 if not, or a negative
 * errno. */
int cgroup_leaf_is_populated(const struct cgroup_leaf *leaf);

/* Removes the leaf and closes its descriptor. -EBUSY: it is populated, and stays as it is. */
int cgroup_leaf_remove(const struct cgroup_tree *tree, struct cgroup_leaf *leaf);
