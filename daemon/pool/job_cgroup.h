/* SPDX-License-Identifier: MIT */
#pragma once
/* A job's cgroup as its slot uses it. All of this does nothing where the host has no tree of
 * cgroups for the daemon.
 *
 * May include: cgroup, proto, and the pool's result.
 *
 * Invariant: a cgroup is open, that is `leaf.fd` is set, from job_cgroup_open() until
 * job_cgroup_close() returns true. */

#include "result.h"

#include "daemon/cgroup/cgroup.h"
#include "proto/limits.h"

struct job_cgroup {
    const struct cgroup_tree *tree; /* NULL, or without one: no cgroups */
    struct cgroup_leaf leaf;
    unsigned looks; /* how often job_cgroup_close() found it in use */
    bool is_left;   /* it was given up while in use, and stays on the host */

    /* Of a session: what was there before the command that runs. */
    unsigned earlier_evidence;
    uint64_t earlier_cpu_us;
};

/* After so many looks a cgroup that is in use is given up. */
#define JOB_CGROUP_LOOKS_MAX 2000

#define JOB_CGROUP_NULL          \
    {                            \
        .leaf = CGROUP_LEAF_NULL \
    }

/* Makes the cgroup of job JOB_NO with those of LIMITS that a cgroup can bound. The caller owns
 * *ret_fd, with which the jail starts the job in it; -1 where there is no tree. A negative errno on
 * failure, with nothing left. */
int job_cgroup_open(struct job_cgroup *cgroup, const struct cgroup_tree *tree, uint64_t job_no,
                    const struct limits *limits, unsigned cpu_percent, int *ret_fd);

/* The same for a command of a session, all of whose commands share one cgroup: the first makes it.
 */
int job_cgroup_share(struct job_cgroup *cgroup, const struct cgroup_tree *tree, uint64_t job_no,
                     const struct limits *limits, unsigned cpu_percent, int *ret_fd);

/* Whether there is a cgroup. */
static inline bool job_cgroup_is_open(const struct job_cgroup *cgroup)
{
    return cgroup->leaf.fd >= 0;
}

/* Whether the cgroup bounds the number of processes. */
bool job_cgroup_counts_processes(const struct job_cgroup *cgroup);

/* Whether the cgroup bounds memory. */
bool job_cgroup_bounds_memory(const struct job_cgroup *cgroup);

/* Kills everything in the cgroup. */
void job_cgroup_kill(const struct job_cgroup *cgroup);

/* Milliseconds until the tree of processes may have used LIMIT_MS of CPU time (rounded up to whole
 * seconds, and a little more), at the earliest: if it runs on all CPUs. 0: it has used that.
 * UINT64_MAX if nothing counts its CPU time. */
uint64_t job_cgroup_cpu_remaining_ms(const struct job_cgroup *cgroup, uint64_t limit_ms);

/* Microseconds of CPU time that the tree of processes has used; 0 if nothing counts it. */
uint64_t job_cgroup_cpu_us(const struct job_cgroup *cgroup);

/* Microseconds for which the tree was ready to run and none of it ran; 0 if nothing counts that.
 * The kernel tells it up to two seconds late. */
uint64_t job_cgroup_pressure_us(const struct job_cgroup *cgroup);

/* Adds to RESULT what the cgroup knows better than the jail: usage of the whole tree, evidence of
 * limits that were met. */
void job_cgroup_collect(const struct job_cgroup *cgroup, struct slot_result *result);

/* The same for a command of a session: what was new since job_cgroup_share(). */
void job_cgroup_collect_new(struct job_cgroup *cgroup, struct slot_result *result);

/* Removes the cgroup. False while something in it lives or is dying; kills that, to be called
 * again. After JOB_CGROUP_LOOKS_MAX looks it leaves the cgroup where it is and returns true. */
bool job_cgroup_close(struct job_cgroup *cgroup);

/* Removes the cgroup if it is not in use, and forgets it in any case. */
void job_cgroup_deinit(struct job_cgroup *cgroup);
