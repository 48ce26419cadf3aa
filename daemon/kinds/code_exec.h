/* SPDX-License-Identifier: MIT */
#pragma once
/* Plans a code_exec job: the slot runs the checker (daemon/checker/judge.py) with the job as its
 * input, and the code apart from it (daemon/checker/candidate.py). */

#include "code_exec_class.h"
#include "kind.h"

struct code_exec_plan {
    struct launch launch; /* points into the plan and the host */
    const char *argv[7], *candidate[7];
    struct bytes input; /* owned */
    struct code_exec_class of_class;
};

#define CODE_EXEC_PLAN_NULL \
    {                       \
        .input = BYTES_NULL \
    }

/* Puts the checker's code into sealed memory, which the caller owns and all jobs share. A negative
 * errno. */
int code_exec_checker(void);

/* Plans JOB for HOST, which is borrowed. PLAN must not move while its launch is in use. 0 or
 * -ENOMEM; call code_exec_plan_deinit() either way. */
int code_exec_plan_init(struct code_exec_plan *plan, const struct job_spec *job,
                        const struct kind_host *host);

void code_exec_plan_deinit(struct code_exec_plan *plan);
#define _cleanup_code_exec_plan_ _cleanup_(code_exec_plan_deinit)
