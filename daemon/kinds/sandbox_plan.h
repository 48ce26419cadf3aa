/* SPDX-License-Identifier: MIT */
#pragma once
/* Plans a sandbox job: a program, a snippet or the code in a generation. */

#include "kind.h"

struct sandbox_plan {
    struct launch launch; /* points into the plan, the job and the host */
    const char *argv[5];
    const char **envp;         /* owned; its entries are borrowed */
    char *term;                /* owned: the variable; NULL: none */
    char **readable;           /* owned */
    struct launch_file *files; /* owned; names and contents are borrowed */
    struct bytes code;         /* owned: the code in the generation */
    bool no_code;              /* the generation has no code; there is nothing to launch */
};

#define SANDBOX_PLAN_NULL \
    {                     \
        .envp = NULL      \
    }

/* Plans JOB. PLAN must not move while its launch is in use. On failure the return value is negative
 * and *ret_code and FAULT say what to answer. Call sandbox_plan_deinit() either way. */
int sandbox_plan_init(struct sandbox_plan *plan, const struct job_spec *job,
                      const struct kind_host *host, enum error_code *ret_code, struct fault *fault);

void sandbox_plan_deinit(struct sandbox_plan *plan);
#define _cleanup_sandbox_plan_ _cleanup_(sandbox_plan_deinit)
