/* SPDX-License-Identifier: MIT */
#include "sandbox_steps.h"
#include "outcome.h"

#include "daemon/pool/collected.h"
#include "proto/printer.h"
#include "proto/utf8.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct sandbox_steps {
    struct sandbox_plan plan; /* of the step that was planned last */
    size_t step;              /* its number */
    int carried;              /* the files that it finds; -1: those of the job */
    struct printer told;      /* what the steps before it did: an array that is not closed */
    size_t output_left;       /* bytes of output that may still be told */
    int cannot_follow;        /* an errno: why the next step does not find all files; 0: it does */
};

static const char *const everything[] = {"*", NULL};

static int out_of_memory(enum error_code *ret_code, struct fault *fault)
{
    (void)fault_set(fault, "out of memory");
    *ret_code = ERROR_INTERNAL;
    return -ENOMEM;
}

/* Plans the step whose number is set. All but the last leave everything to the next. */
static void plan_step(struct sandbox_steps *steps, const struct sandbox_spec *sandbox,
                      struct kind_plan *plan)
{
    const struct sandbox_step *step = &sandbox->steps[steps->step];
    struct launch *launch = &steps->plan.launch;
    bool is_last = steps->step + 1 == sandbox->step_count;
    launch->argv = (const char *const *)step->argv;
    launch->input = &step->input;
    launch->limits = step->limits;
    if (!is_last) {
        launch->collect = everything;
        launch->collect_max = MIN(step->limits.of[LIMIT_DISK], (uint64_t)SANDBOX_CARRIED_MAX);
    } else {
        launch->collect = (const char *const *)sandbox->collect;
        launch->collect_max = SANDBOX_COLLECTED_MAX;
    }
    if (steps->step > 0) {
        launch->file_count = 0;
        launch->prepared = steps->carried;
    }
    plan->launch = *launch;
    plan->more = !is_last;
}

int sandbox_steps_plan(struct kind_plan *plan, const struct job_spec *spec,
                       const struct kind_host *host, enum error_code *ret_code, struct fault *fault)
{
    struct sandbox_steps *steps = calloc(1, sizeof(*steps));
    if (!steps)
        return out_of_memory(ret_code, fault);
    plan->kept = steps;
    steps->carried = -1;
    steps->output_left = SANDBOX_STEPS_OUTPUT_MAX;
    printer_open_list(&steps->told);
    int r = sandbox_plan_init(&steps->plan, spec, host, ret_code, fault);
    if (r == 0)
        plan_step(steps, &spec->sandbox, plan);
    return r;
}

/* Prints what a step did. Its output takes part of *OUTPUT_LEFT. */
static void tell(struct printer *printer, const struct slot_result *result, struct outcome *outcome,
                 size_t *output_left)
{
    const struct usage usage = usage_from_result(result, 0);
    size_t whole = outcome->stderr_length, out = MIN(result->out->length, *output_left);
    outcome->stderr_length = utf8_cut(outcome->stderr_text, whole, *output_left - out);
    *output_left -= out + outcome->stderr_length;
    printer_item(printer);
    reply_print_step(printer, outcome, &usage, result->out, out);
    outcome->stderr_length = whole;
}

/* Keeps the files of RESULT for the next step. */
static int carry(struct sandbox_steps *steps, const struct slot_result *result,
                 enum error_code *ret_code, struct fault *fault)
{
    int copy = fcntl(result->collected, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) {
        int r = -errno;
        (void)fault_set(fault, "job.steps[%zu]: keeping the files of the step before: %s",
                        steps->step + 1, strerror(-r));
        *ret_code = ERROR_INTERNAL;
        return r;
    }
    close_fd(steps->carried);
    steps->carried = copy;
    return 0;
}

int sandbox_steps_next(struct kind_plan *plan, const struct job_spec *spec, void *kept,
                       const struct kind_host *host, const struct slot_result *result,
                       enum error_code *ret_code, struct fault *fault)
{
    struct sandbox_steps *steps = kept;
    const struct sandbox_step *step = &spec->sandbox.steps[steps->step];
    _cleanup_outcome_ struct outcome outcome = OUTCOME_NULL;
    (void)host;
    assert(plan); /* none is planned ahead: it needs the files */
    int r = outcome_from_result(result, &step->limits, &outcome);
    if (r < 0)
        return out_of_memory(ret_code, fault);
    if (!outcome.success && !step->may_fail)
        return 0;
    int fits = collected_fit(result->collected, step[1].limits.of[LIMIT_DISK], 0);
    steps->cannot_follow = result->collect_error ? result->collect_error : fits == 0 ? EFBIG : 0;
    if (steps->cannot_follow != 0)
        return 0;
    tell(&steps->told, result, &outcome, &steps->output_left);
    r = carry(steps, result, ret_code, fault);
    if (r < 0)
        return r;
    steps->step++;
    plan_step(steps, &spec->sandbox, plan);
    return 1;
}

/* Makes the outcome of a program that left too much that of one that exceeded its disk, and that of
 * one whose processes took too long to die (WHY is ECHILD) a failure. */
static int blame_what_is_left(struct outcome *outcome, int why)
{
    bool is_alive = why == ECHILD;
    char *summary = strdup(is_alive ? "sandbox left processes that took too long to end"
                                    : "sandbox limit exceeded: disk");
    if (!summary)
        return -ENOMEM;
    free(outcome->summary);
    outcome->summary = summary;
    if (!is_alive)
        outcome->limit = LIMIT_DISK;
    outcome->success = false;
    return 0;
}

size_t sandbox_steps_bytes(const void *kept)
{
    const struct sandbox_steps *steps = kept;
    return steps ? collected_bytes(steps->carried) : 0;
}

int sandbox_steps_judge(const struct kind_run *run, struct judgement *ret)
{
    const struct sandbox_steps *steps = run->kept;
    size_t output_left = steps->output_left;
    struct printer printer = PRINTER_NULL;
    int why = steps->cannot_follow;
    int r = why != 0 ? blame_what_is_left(run->outcome, why) : 0;
    if (r < 0 || steps->told.failed)
        return -ENOMEM;
    printer_bytes(&printer, &steps->told.text);
    tell(&printer, run->result, run->outcome, &output_left);
    printer_close_list(&printer);
    ret->hides_output = true;
    return printer_finish(&printer, &ret->steps);
}

void sandbox_steps_free(void *kept)
{
    struct sandbox_steps *steps = kept;
    if (!steps)
        return;
    sandbox_plan_deinit(&steps->plan);
    bytes_deinit(&steps->told.text);
    close_fd(steps->carried);
    free(steps);
}
