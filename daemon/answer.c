/* SPDX-License-Identifier: MIT */
#include "answer.h"
#include "outcome.h"
#include "score.h"

#include <stdio.h>
#include <string.h>

void answer_deinit(struct answer *answer)
{
    bytes_deinit(&answer->payload);
}

static void describe_failure(const struct bench_score *score, struct answer *answer)
{
    const json_t *mode = json_array_get(score->failure_modes, 0);
    const char *code = json_string_value(json_object_get(mode, "code"));
    if (!answer->passed)
        (void)snprintf(answer->what, sizeof(answer->what), "%s", code ? code : "not passed");
}

static int print_result(const struct job *job, const struct bench_score *score,
                        const struct outcome *outcome, const json_t *isolation,
                        struct answer *answer)
{
    struct reply_result reply = {
        .id = &job->id,
        .job_no = job->number,
        .kind = job_kind_name(job->spec->kind),
        .score = score,
        .outcome = outcome,
        .usage = &answer->usage,
        .isolation = isolation,
    };
    answer->is_result = true;
    answer->passed = score->passed;
    answer->score = score->score;
    describe_failure(score, answer);
    return reply_result(&reply, &answer->payload);
}

static int answer_verdict(const struct job *job, const struct slot_result *result,
                          const json_t *isolation, struct answer *ret)
{
    _cleanup_outcome_ struct outcome outcome = OUTCOME_NULL;
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    struct answer answer = ANSWER_NULL;
    bool accepted;

    int r = outcome_from_result(result, &job->spec->limits, &outcome);
    if (r < 0)
        return r;
    struct score_input input = {
        .outcome = &outcome,
        .out = result->out,
        .err = result->err,
        .task_class = job->task_class,
    };
    r = score_rubric(&input, &score, &accepted);
    if (r < 0)
        return r;
    if (accepted)
        outcome_drop_stderr(&outcome);
    answer.rubric_failed = !accepted;
    answer.usage = usage_from_result(result, job->queued_ns, job->launched_ns);
    score.wall_clock_ms = answer.usage.wall_clock_ms;
    r = print_result(job, &score, &outcome, isolation, &answer);
    if (r == 0)
        *ret = answer;
    return r;
}

int answer_from_sut(const struct job *job, const json_t *isolation, struct answer *ret)
{
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    struct answer answer = {.usage = {.wall_clock_ms = 1, .cpu_wait_ms = 0}};
    char summary[] = "not run: the system under test failed";
    struct outcome outcome = {.exit_code = -1, .limit = LIMIT_NONE, .summary = summary};

    int r = score_sut(&job->spec->rubric, &score);
    if (r == 0)
        r = print_result(job, &score, &outcome, isolation, &answer);
    if (r == 0)
        *ret = answer;
    return r;
}

int answer_error(const struct job *job, enum error_code code, const char *message,
                 struct answer *ret)
{
    struct answer answer = {.code = code};
    (void)snprintf(answer.what, sizeof(answer.what), "%s: %s", error_code_name(code), message);
    int r = reply_error(&job->id, job->number, code, message, &answer.payload);
    if (r == 0)
        *ret = answer;
    return r;
}

/* How the program ended is not known, and it is not we who ended it. */
static int answer_jail_lost(const struct job *job, struct answer *ret)
{
    return answer_error(job, ERROR_SANDBOX_FAILED,
                        "the jail was lost while the job ran; it has been replaced", ret);
}

static int answer_not_started(const struct job *job, const struct slot_result *result,
                              struct answer *ret)
{
    char message[160];
    (void)snprintf(message, sizeof(message), "the program could not be started: %s: %s",
                   link_stage_name(result->stage), strerror(result->error));
    return answer_error(job, ERROR_SANDBOX_FAILED, message, ret);
}

int answer_from_slot(const struct job *job, const struct slot_result *result,
                     const json_t *isolation, struct answer *ret)
{
    if (result->killed == SLOT_KILL_CANCELLED)
        return job->draining ? answer_error(job, ERROR_DRAINING,
                                            "the daemon stops and the grace period is over", ret)
                             : answer_error(job, ERROR_CANCELLED, "cancelled while running", ret);
    if (result->end == SLOT_END_NOT_STARTED)
        return answer_not_started(job, result, ret);
    /* A jail that is lost after we killed its job changes nothing of why we did. */
    if (result->end == SLOT_END_JAIL_LOST && result->killed == SLOT_KILL_NONE)
        return answer_jail_lost(job, ret);
    return answer_verdict(job, result, isolation, ret);
}
