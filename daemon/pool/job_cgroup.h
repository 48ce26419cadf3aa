/* SPDX-License-Identifier: MIT */
#pragma once
/* A job's cgroup as its slot sees it; everything here does nothing where there is no tree. */

#include "result.h"

#include "daemon/cgroup/cgroup.h"
#include "proto/limits.h"

struct job_cgroup {
    const struct cgroup_tree *tree; /* NULL, or without one: no cgroups */
    struct cgroup_leaf leaf;
    unsigned looks; /* that found it in use still */
    bool is_left;   /* it stays behind */
};

#define JOB_CGROUP_LOOKS_MAX 2000

#define JOB_CGROUP_NULL          \
    {                            \
        .leaf = CGROUP_LEAF_NULL \
    }

/* Makes the cgroup of job JOB_NO with what LIMITS bound in it; *ret_fd, the caller's, is for the
 * jail to start the job in, -1 where there is none. */
int job_cgroup_open(struct job_cgroup *cgroup, const struct cgroup_tree *tree, uint64_t job_no,
                    const struct limits *limits, unsigned cpu_percent, int *ret_fd);

/* Whether it bounds the number of processes. */
bool job_cgroup_counts_processes(const struct job_cgroup *cgroup);

void job_cgroup_kill(const struct job_cgroup *cgroup);

/* Milliseconds until the whole tree can have used LIMIT_MS of CPU time (in whole seconds, rounded
 * up, and a little) at the earliest, however many CPUs there are; 0: it has. UINT64_MAX where
 * nobody counts. */
uint64_t job_cgroup_cpu_remaining_ms(const struct job_cgroup *cgroup, uint64_t limit_ms);

/* Adds to RESULT what the cgroup knows better: usage of the whole tree, evidence. */
void job_cgroup_collect(const struct job_cgroup *cgroup, struct slot_result *result);

/* Removes the cgroup. False while something in it still lives or dies, which is being killed; but
 * not for ever: what is in use after JOB_CGROUP_LOOKS_MAX looks is left where it is. */
bool job_cgroup_close(struct job_cgroup *cgroup);

/* The same, and lets go of what is still in use then. */
void job_cgroup_deinit(struct job_cgroup *cgroup);
