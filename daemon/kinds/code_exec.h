/* SPDX-License-Identifier: MIT */
#pragma once
/* Plans a code_exec job: the slot runs the checker (daemon/checker/judge.py) with the job as its
 * input. */

#include "kind.h"

struct code_exec_plan {
    struct launch launch; /* points into the plan and the host */
    const char *argv[5];
    struct launch_file *files; /* owned; names and contents are the program's own */
    struct bytes *contents;    /* owned array of borrowed bytes */
    struct bytes input;        /* owned */
};

#define CODE_EXEC_PLAN_NULL \
    {                       \
        .files = NULL       \
    }

/* Plans JOB with the Python at INTERPRETER in ENVIRONMENT, both borrowed. PLAN must not move while
 * its launch is in use. 0 or -ENOMEM; call code_exec_plan_deinit() either way. */
int code_exec_plan_init(struct code_exec_plan *plan, const struct job_spec *job,
                        const char *interpreter, const char *const *environment);

void code_exec_plan_deinit(struct code_exec_plan *plan);
#define _cleanup_code_exec_plan_ _cleanup_(code_exec_plan_deinit)
