/* SPDX-License-Identifier: MIT */
#include "collected_files.h"
#include "kind.h"
#include "sandbox_plan.h"
#include "sandbox_steps.h"
#include "score.h"

#include <stdio.h>
#include <string.h>

_Static_assert(SANDBOX_FILES_MAX == LINK_FILES_MAX && SANDBOX_NAME_MAX == LINK_NAME_MAX &&
                   SANDBOX_COLLECT_MAX <= LINK_LIST_MAX,
               "what a jail collects, and what a client may give");

static const char *label(const struct job_spec *spec)
{
    const struct sandbox_spec *sandbox = &spec->sandbox;
    if (sandbox->program == SANDBOX_ARGV)
        return sandbox->argv[0];
    if (sandbox->program == SANDBOX_STEPS)
        return sandbox->steps[0].argv[0];
    return sandbox->runner == SANDBOX_SHELL ? "shell snippet" : "python snippet";
}

static void free_parts(void *parts)
{
    if (parts)
        sandbox_plan_deinit(parts);
    free(parts);
}

static int plan_job(struct kind_plan *plan, const struct job_spec *spec,
                    const struct kind_host *host, enum error_code *ret_code, struct fault *fault)
{
    if (spec->sandbox.program == SANDBOX_STEPS)
        return sandbox_steps_plan(plan, spec, host, ret_code, fault);
    struct sandbox_plan *sandbox = calloc(1, sizeof(*sandbox));
    plan->parts = sandbox;
    plan->free_parts = free_parts;
    if (!sandbox) {
        fault_set(fault, "out of memory");
        *ret_code = ERROR_INTERNAL;
        return -ENOMEM;
    }
    int r = sandbox_plan_init(sandbox, spec, host, ret_code, fault);
    plan->launch = sandbox->launch;
    plan->no_code = sandbox->no_code;
    return r;
}

static bool names_program(const struct job_spec *spec)
{
    return spec->sandbox.program == SANDBOX_ARGV || spec->sandbox.program == SANDBOX_STEPS;
}

static bool has_steps(const struct job_spec *spec)
{
    return spec->sandbox.program == SANDBOX_STEPS;
}

static void drop_input(struct job_spec *spec)
{
    struct sandbox_spec *sandbox = &spec->sandbox;
    bytes_deinit(&sandbox->input);
    bytes_deinit(&sandbox->text);
    for (size_t i = 0; i < sandbox->file_count; i++)
        bytes_deinit(&sandbox->files[i].content);
    for (size_t i = 0; i < sandbox->step_count; i++)
        bytes_deinit(&sandbox->steps[i].input);
}

static int judge(const struct kind_run *run, struct judgement *ret)
{
    int r = run->kept ? sandbox_steps_judge(run, ret) : 0;
    if (r == 0 && run->spec->sandbox.collect)
        r = collected_files_tell(run->result->collected, run->result->collect_error,
                                 run->spec->sandbox.collect, ret);
    if (r < 0)
        return r;
    ret->program_failed = !run->outcome->success;
    return score_sandbox(run->outcome, &ret->score);
}

extern const struct kind_ops sandbox_ops;
const struct kind_ops sandbox_ops = {
    .tells_output = true,
    .label = label,
    .plan = plan_job,
    .next = sandbox_steps_next,
    .kept_bytes = sandbox_steps_bytes,
    .has_steps = has_steps,
    .names_program = names_program,
    .drop_input = drop_input,
    .judge = judge,
    .free_kept = sandbox_steps_free,
};
