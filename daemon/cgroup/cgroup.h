/* SPDX-License-Identifier: MIT */
#pragma once
/* Control groups, version 2: a leaf per job below a subtree that is delegated to the daemon.
 *
 *     GROUP           the delegated one, without a process: a unit with Delegate=yes, say
 *     GROUP/daemon    this process and its jails
 *     GROUP/jobs      no process; its weight against `daemon` is 1 to 1, whatever the jobs do
 *     GROUP/jobs/job-N   one job: its program and all that comes of it, until the leaf is removed
 *
 * A job's way, per leaf:
 *
 *     cgroup_leaf_create();  the program is forked into leaf.fd (jail/cgroup_fork.h)
 *     ... it ends, or cgroup_leaf_kill() ends it and its whole tree ...
 *     cgroup_leaf_read();    usage and evidence go with the leaf
 *     cgroup_leaf_remove();  -EBUSY while something in it still lives or dies: kill it, come again
 *
 * All of it are operations on descriptors below GROUP, with names that are made here. What a job
 * can write must not lead here: its files belong to the daemon's user, and so does the job. A job's
 * view of the file system has no writable cgroup2, and leaf.fd does not stay open in it.
 *
 * Nothing here blocks but cgroup_tree_open(), for at most CGROUP_SETTLE_MS if a predecessor left
 * processes behind. Nothing logs. */

#include "proto/fault.h"

#include <stdbool.h>
#include <stdint.h>

/* What a killed predecessor left has this long to die. */
#define CGROUP_SETTLE_MS 5000
/* "job-" and a number of 64 bits. */
#define CGROUP_NAME_MAX 32
#define CGROUP_UNLIMITED UINT64_MAX

/* Without them the tree still kills, and counts CPU time. */
enum cgroup_controller {
    CGROUP_MEMORY,
    CGROUP_PIDS,
    CGROUP_CPU, /* jobs share the CPU evenly, however many processes each has; cpu.max works */
    CGROUP_CONTROLLERS,
};

struct cgroup_tree {
    int group_fd;                     /* GROUP; holds the lock that keeps other daemons out */
    int fd;                           /* GROUP/jobs; -1: there is no tree */
    bool has[CGROUP_CONTROLLERS];     /* what leaves have */
    bool enabled[CGROUP_CONTROLLERS]; /* what GROUP did not give before; taken back at the end */
    bool own_leaf; /* this process was moved to GROUP/daemon, and goes back at the end */
};
#define CGROUP_TREE_NULL         \
    {                            \
        .group_fd = -1, .fd = -1 \
    }

/* Finds this process's group, checks that it is ours to divide, moves this process to the leaf
 * `daemon` of it, enables the controllers that there are, and removes what a killed predecessor
 * left. In a leaf `daemon` already (DelegateSubgroup=daemon of systemd): uses the group above.
 *
 * To be called before any child is started (only this process is moved) and after privileges are
 * dropped (as root every group looks delegated). The daemon stays a single process of GROUP until
 * then: a group with other processes in it is refused, they are not ours to move.
 *
 * 0, with FAULT empty or saying which controllers leaves do without, and why; or a negative errno
 * with FAULT saying cause and remedy, and nothing is changed. -EBUSY: another daemon has the group,
 * or it has other processes; -EACCES, -EROFS: not delegated; -ENOENT: no cgroup2 here. */
int cgroup_tree_open(struct cgroup_tree *ret, struct fault *fault);

/* Leaves GROUP as it was found, as far as nobody is left in it. Accepts an empty tree. */
void cgroup_tree_close(struct cgroup_tree *tree);

/* What is in force depends on the tree's controllers; the others are not looked at. */
struct cgroup_limits {
    uint64_t
        memory_max;    /* bytes, of the whole tree, page cache and tmpfs files included; no swap */
    uint64_t pids_max; /* processes and threads */
    unsigned cpu_percent; /* of one CPU; 0: no limit */
};

struct cgroup_leaf {
    int fd; /* what clone3(CLONE_INTO_CGROUP) takes; -1: no leaf */
    char name[CGROUP_NAME_MAX];
};
#define CGROUP_LEAF_NULL \
    {                    \
        .fd = -1         \
    }

/* JOB_NO must not have been used in this tree before, or its leaf be removed. On failure no leaf is
 * left. Past memory_max the kernel kills the whole leaf at once (memory.oom.group). */
int cgroup_leaf_create(const struct cgroup_tree *tree, uint64_t job_no,
                       const struct cgroup_limits *limits, struct cgroup_leaf *ret);

/* SIGKILLs everything in the leaf, also what forks or has left its session; they die soon after. */
int cgroup_leaf_kill(const struct cgroup_leaf *leaf);

/* What the leaf's events say for certain; a bit alone does not make a job failed, it says why one
 * that failed did. */
enum cgroup_evidence {
    /* The kernel killed it because it needed more than its own memory_max. */
    CGROUP_MEMORY_LIMIT = 1 << 0,
    /* Forks were refused because it had its own pids_max. */
    CGROUP_PIDS_LIMIT = 1 << 1,
    /* It was killed for want of memory, and not by its own limit: the host's, the unit's. That is
     * no verdict on the job. */
    CGROUP_MEMORY_OUTSIDE = 1 << 2,
    /* Forks were refused because of somebody else's limit: the unit's TasksMax=. */
    CGROUP_PIDS_OUTSIDE = 1 << 3,
};

struct cgroup_usage {
    uint64_t cpu_us;            /* of everything that ever ran in the leaf */
    uint64_t memory_peak_bytes; /* UINT64_MAX: not known */
    unsigned evidence;          /* enum cgroup_evidence */
};

int cgroup_leaf_read(const struct cgroup_tree *tree, const struct cgroup_leaf *leaf,
                     struct cgroup_usage *ret);

/* The CPU time alone, for a limit of the whole tree's CPU time that is looked at while it runs. */
int cgroup_leaf_read_cpu(const struct cgroup_leaf *leaf, uint64_t *ret_cpu_us);

/* 1: something lives in the leaf (what only waits to be reaped does not count); 0: nothing. */
int cgroup_leaf_is_populated(const struct cgroup_leaf *leaf);

/* Removes the leaf and closes its descriptor. -EBUSY: it is populated, and stays as it is. */
int cgroup_leaf_remove(const struct cgroup_tree *tree, struct cgroup_leaf *leaf);
