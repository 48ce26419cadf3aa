/* SPDX-License-Identifier: MIT */
#pragma once
/* What happens in a job's process between fork and its program: the ordered list of confinement. */

#include "link.h"

#include <stdbool.h>
#include <sys/resource.h>

struct lockdown_error {
    uint32_t stage; /* enum link_stage; LINK_STAGE_NONE: the program was started */
    int32_t error;  /* errno */
};

struct lockdown {
    uint32_t layers;            /* bits of enum layer: those that are in force */
    int cwd;                    /* the private directory, becomes the working directory */
    int fds[LINK_STANDARD_FDS]; /* above 2, as all of the jail's but 0, 1 and 2 */
    int ruleset;                /* of Landlock; -1: none */
    bool own_cgroup;    /* the job is alone in its cgroup, which becomes the root of what it sees */
    int enter_cgroup;   /* -1, or that cgroup, if it was not started in it already */
    uint64_t pass;      /* see mounts.h */
    bool cgroup_counts; /* the cgroup bounds the number of processes */
    bool gives_up_pass; /* and what it is good for */
    const struct limits *limits;
    const struct rlimit *ceilings; /* by resource, RLIM_NLIMITS of them: the jail's own */
    char *const *argv;             /* argv[0] is the absolute path of the program */
    char *const *envp;
    struct lockdown_error *ret_error; /* in memory that the jail sees too */
};

/* The jail's own signals, mask and resource limits, from which a job's are made; called once,
 * before anything else. CEILINGS has room for RLIM_NLIMITS. */
void lockdown_prepare(struct rlimit *ceilings);

/* Confines this process: all but execve; descriptors above 2 are closed by that. On failure
 * *ret_error is set and the process gone. Allocates and logs nothing; may run in the jail's memory.
 */
void lockdown_confine(const struct lockdown *lockdown);

/* Becomes the program, with nothing of the jail's signals. Never returns, likewise. */
_Noreturn void lockdown_exec(const struct lockdown *lockdown);
