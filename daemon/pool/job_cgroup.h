/* SPDX-License-Identifier: MIT */
#pragma once
/* A job's cgroup as its slot sees it; everything here does nothing where there is no tree. */

#include "result.h"

#include "daemon/cgroup/cgroup.h"
#include "proto/limits.h"

struct leaf {
    const struct cgroup_tree *tree; /* NULL, or without one: no cgroups */
    struct cgroup_leaf leaf;
    unsigned looks; /* that found it in use still */
    bool is_left;   /* it stays behind */
};

#define LEAF_LOOKS_MAX 2000

#define LEAF_NULL                \
    {                            \
        .leaf = CGROUP_LEAF_NULL \
    }

/* Makes the cgroup of job JOB_NO with what LIMITS bound in it; *ret_fd, the caller's, is for the
 * jail to start the job in, -1 where there is none. */
int leaf_open(struct leaf *leaf, const struct cgroup_tree *tree, uint64_t job_no,
              const struct limits *limits, unsigned cpu_percent, int *ret_fd);

/* Whether it bounds the number of processes. */
bool leaf_counts_processes(const struct leaf *leaf);

void leaf_kill(const struct leaf *leaf);

/* Milliseconds until the whole tree can have used LIMIT_MS of CPU time (in whole seconds, rounded
 * up, and a little) at the earliest, however many CPUs there are; 0: it has. UINT64_MAX where
 * nobody counts. */
uint64_t leaf_cpu_remaining_ms(const struct leaf *leaf, uint64_t limit_ms);

/* Adds to RESULT what the cgroup knows better: usage of the whole tree, evidence. */
void leaf_collect(const struct leaf *leaf, struct slot_result *result);

/* Removes the cgroup. False while something in it still lives or dies, which is being killed; but
 * not for ever: what is in use after LEAF_LOOKS_MAX looks is left where it is. */
bool leaf_close(struct leaf *leaf);

/* The same, and lets go of what is still in use then. */
void leaf_deinit(struct leaf *leaf);
