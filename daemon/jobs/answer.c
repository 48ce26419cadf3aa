/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include "daemon/kinds/kind.h"
#include "daemon/kinds/outcome.h"
#include "proto/shortage.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void answer_deinit(struct answer *answer)
{
    bytes_deinit(&answer->payload);
}

/* The parts of a result that not every answer has. Either SCORE or REASON is NULL. */
struct result_parts {
    const struct bench_score *score;
    const char *reason;
    const struct outcome *outcome;
    const struct bytes *stdout_bytes;  /* NULL: not told */
    const struct judgement *judgement; /* NULL: nothing ran */
    const char *interpreter;           /* NULL: none ran, or this kind does not tell */
};

static void describe_failure(const struct result_parts *parts, struct answer *answer)
{
    const char *what = parts->reason;
    if (parts->score) {
        const json_t *mode = json_array_get(parts->score->failure_modes, 0);
        what = json_string_value(json_object_get(mode, "code"));
    }
    if (!answer->passed)
        (void)snprintf(answer->what, sizeof(answer->what), "%s", what ? what : "not passed");
}

static int print_result(const struct job *job, const struct result_parts *parts,
                        const struct bytes *isolation, struct answer *answer)
{
    const struct judgement *judgement = parts->judgement;
    assert(!parts->score == !!parts->reason); /* a score, or why it is missing */
    struct reply_result reply = {
        .id = &job->id,
        .job_no = job->number,
        .kind = job_kind_name(job->spec->kind),
        .score = parts->score,
        .reason = parts->reason,
        .outcome = parts->outcome,
        .usage = &answer->usage,
        .deadline = answer->deadline,
        .isolation = isolation,
        .stdout_bytes = parts->stdout_bytes,
        .interpreter = parts->interpreter,
        .errno_name = judgement ? judgement->errno_name : NULL,
        .verdict = judgement ? judgement->verdict : NULL,
        .rubric_digest = judgement ? judgement->rubric_digest : NULL,
        .no_rubric_digest = judgement ? judgement->no_rubric_digest : NULL,
        .warm_class = judgement ? judgement->warm_class : NULL,
        .no_warm_class = judgement ? judgement->no_warm_class : NULL,
        .mode = judgement ? judgement->mode : NULL,
        .assertions = judgement ? judgement->assertions : NULL,
        .transcript = judgement ? judgement->transcript : NULL,
        .language = judgement ? judgement->language : NULL,
        .compile = judgement ? judgement->compile : NULL,
        .tests = judgement ? judgement->tests : NULL,
        .steps = judgement ? &judgement->steps : NULL,
        .files = judgement ? &judgement->files : NULL,
    };
    answer->is_result = true;
    answer->limit = parts->outcome->limit;
    answer->passed = parts->score && parts->score->passed;
    answer->score = parts->score ? parts->score->score : NAN;
    describe_failure(parts, answer);
    return reply_result(&reply, &answer->payload);
}

/* The result of the last step, with what the steps before it have used. */
static struct slot_result add_up(const struct job *job, const struct slot_result *last)
{
    const struct job_steps *before = &job->steps;
    struct slot_result sum = *last;
    sum.started_ns -= sum.started_ns > before->ran_ns ? before->ran_ns : 0;
    sum.cpu_us += before->cpu_us;
    sum.max_rss_bytes = MAX(sum.max_rss_bytes, before->max_rss_bytes);
    sum.deadline_moves += before->deadline_moves;
    sum.deadline_ms = MAX(sum.deadline_ms, before->deadline_ms);
    bool is_known = before->run_delay_ns != UINT64_MAX && sum.run_delay_ns != UINT64_MAX;
    sum.run_delay_ns = is_known ? sum.run_delay_ns + before->run_delay_ns : UINT64_MAX;
    return sum;
}

static const struct limits *limits_of(const struct job *job, const struct slot_result *result)
{
    return result->limits ? result->limits : &job->spec->limits;
}

static struct deadline deadline_of(const struct slot_result *result)
{
    return (struct deadline){result->deadline_moves, (int64_t)result->deadline_ms};
}

/* Tells whether execve() failed because of the program itself. */
static bool is_no_program(const struct slot_result *result)
{
    static const int errors[] = {ENOENT,       ENOTDIR, EACCES,  EPERM,  EISDIR, ELOOP,
                                 ENAMETOOLONG, ENOEXEC, ELIBBAD, EINVAL, E2BIG};
    if (result->end != SLOT_END_NOT_STARTED || result->stage != LINK_STAGE_EXEC)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
        if (result->error == errors[i])
            return true;
    return false;
}

/* The same of a program on the job's own disk. EIO: it names an interpreter beyond its own end, or
 * one that is shorter than a header. */
static bool is_no_made_program(const struct slot_result *result)
{
    return is_no_program(result) || (result->end == SLOT_END_NOT_STARTED &&
                                     result->stage == LINK_STAGE_EXEC && result->error == EIO);
}

/* Tells whether execve() failed because of the program that the client named. */
static bool is_clients_program(const struct job *job, const struct slot_result *result)
{
    const struct kind_ops *kind = kind_ops_get(job->spec->kind);
    return kind->names_program && kind->names_program(job->spec) && is_no_program(result);
}

/* Tells whether it failed because of a program that the job itself has made. */
static bool is_jobs_program(const struct job *job, const struct slot_result *result)
{
    const struct kind_ops *kind = kind_ops_get(job->spec->kind);
    return kind->made_program && kind->made_program(job->kept) && is_no_made_program(result);
}

static int answer_verdict(const struct job *job, const struct slot_result *result,
                          const struct bytes *isolation, struct answer *ret)
{
    assert(result->end != SLOT_END_NOT_STARTED || is_jobs_program(job, result));
    const struct kind_ops *kind = kind_ops_get(job->spec->kind);
    _cleanup_outcome_ struct outcome outcome = OUTCOME_NULL;
    _cleanup_judgement_ struct judgement judgement = JUDGEMENT_NULL;
    struct kind_run run = {job->spec, job->kept, result, &outcome};
    struct answer answer = ANSWER_NULL;

    const struct slot_result sum = add_up(job, result);
    int r = outcome_from_result(result, limits_of(job, result), &outcome);
    if (r == 0)
        r = kind->judge(&run, &judgement);
    if (r < 0)
        return r;
    if (judgement.broken)
        return answer_error(job, judgement.broken_code, judgement.broken, ret);
    answer.program_failed = judgement.program_failed;
    answer.usage = usage_from_result(&sum, job_queue_ms(job));
    answer.ran_ns = sum.started_ns ? sum.ended_ns - sum.started_ns : 0;
    answer.deadline = deadline_of(&sum);
    judgement.score.wall_clock_ms = answer.usage.wall_clock_ms;
    struct result_parts parts = {
        .score = judgement.reason ? NULL : &judgement.score,
        .reason = judgement.reason,
        .outcome = &outcome,
        .stdout_bytes = kind->tells_output && !judgement.hides_output ? result->out : NULL,
        .judgement = &judgement,
    };
    if (kind->tells_interpreter)
        parts.interpreter = result->warm ? "warm" : "cold";
    r = print_result(job, &parts, isolation, &answer);
    if (judgement.reason) { /* it is not scored, but counted */
        answer.passed = outcome.success;
        outcome_describe(&outcome, answer.what, sizeof(answer.what));
    }
    if (r == 0)
        *ret = answer;
    return r;
}

int answer_from_sut(const struct job *job, const struct bytes *isolation, struct answer *ret)
{
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    struct answer answer = {.usage = {.wall_clock_ms = 1, .cpu_wait_ms = 0}};
    assert(kind_ops_get(job->spec->kind)->score_unrun);
    char summary[] = "not run: the system under test failed";
    struct outcome outcome = {.exit_code = -1, .limit = LIMIT_NONE, .summary = summary};
    struct result_parts parts = {.score = &score, .outcome = &outcome};

    int r = kind_ops_get(job->spec->kind)->score_unrun(job->spec, &score);
    if (r == 0)
        r = print_result(job, &parts, isolation, &answer);
    if (r == 0)
        *ret = answer;
    return r;
}

int answer_no_code(const struct job *job, const struct bytes *isolation, struct answer *ret)
{
    static const struct bytes nothing = BYTES_NULL;
    struct answer answer = {.usage = {.wall_clock_ms = 1, .queue_ms = job_queue_ms(job)}};
    char summary[] = "not run: no code was found";
    struct outcome outcome = {.exit_code = -1, .limit = LIMIT_NONE, .summary = summary};
    struct result_parts parts = {
        .reason = "no_code", .outcome = &outcome, .stdout_bytes = &nothing};

    int r = print_result(job, &parts, isolation, &answer);
    if (r == 0)
        *ret = answer;
    return r;
}

int answer_error(const struct job *job, enum error_code code, const char *message,
                 struct answer *ret)
{
    struct answer answer = {.code = code, .limit = LIMIT_NONE};
    (void)snprintf(answer.what, sizeof(answer.what), "%s: %.200s", error_code_name(code), message);
    int r = reply_error(&job->id, job->number, code, message, &answer.payload);
    if (r == 0)
        *ret = answer;
    return r;
}

/* The end of the program is not known, and the supervisor did not cause it. */
static int answer_jail_lost(const struct job *job, const struct slot_result *result,
                            struct answer *ret)
{
    char message[256];
    if (job->spec->kind == JOB_SESSION && !result->no_jail)
        return answer_error(job, ERROR_SESSION_ENDED,
                            "the session's jail was lost while the command ran, and the session "
                            "with it",
                            ret);
    if (!result->no_jail)
        return answer_error(job, ERROR_SANDBOX_FAILED,
                            "the jail was lost while the job ran; it has been replaced", ret);
    (void)snprintf(message, sizeof(message), "%s could not be started: %s",
                   result->started_ns ? "the jail was lost while the job ran, and the next one"
                                      : "the job's jail",
                   result->no_jail);
    return answer_error(job, ERROR_SANDBOX_FAILED, message, ret);
}

/* Only a job with another uid than the daemon's looks for itself. */
static int answer_closed(const struct job *job, struct answer *ret)
{
    char message[JOB_LABEL_MAX + 200], label[JOB_LABEL_MAX] = "";
    bool is_rubric = job->spec->kind == JOB_RUBRIC;
    if (is_rubric)
        job_describe(job->spec, label);
    (void)snprintf(message, sizeof(message),
                   "%s%s%s: closed to jobs, which have a uid of their own: let others read it, or "
                   "do without the layer own_uid",
                   is_rubric ? "job.task_class: " : "job.readable", label,
                   is_rubric ? "/rubric.py" : "");
    return answer_error(job, ERROR_NOT_PERMITTED, message, ret);
}

/* Says which program of the client's cannot be executed, and why. LABEL is that of the job. */
static void describe_program(const struct job_spec *spec, const struct slot_result *result,
                             const char *label, char *text, size_t size)
{
    bool has_steps = spec->kind == JOB_SANDBOX && spec->sandbox.program == SANDBOX_STEPS;
    const char *why = strerror(result->error);
    if (has_steps && result->step < spec->sandbox.step_count)
        (void)snprintf(text, size, "job.steps[%u].argv[0]: %.200s: %s", result->step,
                       spec->sandbox.steps[result->step].argv[0], why);
    else
        (void)snprintf(text, size, "job.argv[0]: %s: %s", label, why);
}

static int answer_not_started(const struct job *job, const struct slot_result *result,
                              struct answer *ret)
{
    char message[JOB_LABEL_MAX + 160], label[JOB_LABEL_MAX];
    if (is_clients_program(job, result)) {
        job_describe(job->spec, label);
        describe_program(job->spec, result, label, message, sizeof(message));
        return answer_error(job, ERROR_BAD_REQUEST, message, ret);
    }
    if (result->stage == LINK_STAGE_CWD && job->spec->kind == JOB_SESSION &&
        !is_shortage(result->error)) {
        (void)snprintf(message, sizeof(message), "job.cwd: %s", strerror(result->error));
        return answer_error(job, ERROR_BAD_REQUEST, message, ret);
    }
    /* The kernel says EINVAL of a directory that has others mounted beneath it. */
    if (result->stage == LINK_STAGE_BENCH && result->error == EINVAL)
        return answer_error(job, ERROR_NOT_PERMITTED,
                            "job.bench_root: something is mounted beneath it, which jobs may not "
                            "see; name a directory further down",
                            ret);
    if (result->stage == LINK_STAGE_ACCESS && result->error == EACCES)
        return answer_closed(job, ret);
    if (result->stage == LINK_STAGE_READABLE && result->error == EINVAL)
        return answer_error(
            job, ERROR_NOT_PERMITTED,
            "job.readable: something is mounted beneath one of them, which jobs may "
            "not see; name directories further down",
            ret);
    (void)snprintf(message, sizeof(message), "the program could not be started: %s: %s",
                   link_stage_name(result->stage), strerror(result->error));
    return answer_error(job, ERROR_SANDBOX_FAILED, message, ret);
}

static int answer_starved(const struct job *job, const struct slot_result *result,
                          struct answer *ret)
{
    char message[160];
    struct usage usage = usage_from_result(result, 0);
    (void)snprintf(message, sizeof(message),
                   "the host was too busy: of %" PRId64 " ms the job waited %" PRId64
                   " ms for a CPU, with a wall clock of %" PRIu64 " ms",
                   usage.wall_clock_ms, usage.cpu_wait_ms,
                   limits_of(job, result)->of[LIMIT_WALL_CLOCK]);
    int r = answer_error(job, ERROR_STARVED, message, ret);
    if (r == 0)
        ret->deadline = deadline_of(result);
    return r;
}

/* What cannot be read in full cannot be judged. */
static int answer_lost(const struct job *job, const struct slot_result *result, struct answer *ret)
{
    char message[160];
    (void)snprintf(message, sizeof(message), "the job's %s could not be read in full: %s",
                   result->lost, strerror(-result->lost_error));
    return answer_error(job, ERROR_INTERNAL, message, ret);
}

static int answer_cancelled(const struct job *job, bool has_run, struct answer *ret)
{
    if (job->session_over)
        return answer_error(job, ERROR_SESSION_ENDED, job->session_over, ret);
    if (job->draining)
        return answer_error(job, ERROR_DRAINING, "the daemon stops and the grace period is over",
                            ret);
    return answer_error(job, ERROR_CANCELLED,
                        has_run ? "cancelled while running" : "cancelled while queued", ret);
}

int answer_from_interruption(const struct job *job, const struct slot_result *result,
                             struct answer *ret)
{
    /* Of a job that would go on, no matter what ended its step. */
    if (result->killed == SLOT_KILL_CANCELLED || (result->cancelled && result->more))
        return answer_cancelled(job, result->started_ns > 0 || result->step > 0, ret);
    if (result->killed == SLOT_KILL_STARVED)
        return answer_starved(job, result, ret);
    if (is_jobs_program(job, result))
        return 1;
    if (result->end == SLOT_END_NOT_STARTED)
        return answer_not_started(job, result, ret);
    /* A jail lost after the supervisor killed its job does not change why it did. */
    if (result->end == SLOT_END_JAIL_LOST && result->killed == SLOT_KILL_NONE)
        return answer_jail_lost(job, result, ret);
    if (result->starved && result->killed == SLOT_KILL_NONE && result->end == SLOT_END_EXITED &&
        result->wait_status != 0)
        return answer_error(job, ERROR_SANDBOX_FAILED,
                            "the host ran out of memory, and the kernel ended the job for it", ret);
    /* Whether the job has met it cannot be known, and it may have ended well with what it has not.
     */
    if (result->lacked_room && result->killed == SLOT_KILL_NONE)
        return answer_error(
            job, ERROR_INTERNAL,
            "the host had no room for files while the job ran, whose directory is on a "
            "full file system",
            ret);
    return result->lost ? answer_lost(job, result, ret) : 1;
}

int answer_from_slot(const struct job *job, const struct slot_result *result,
                     const struct bytes *isolation, struct answer *ret)
{
    int r = answer_from_interruption(job, result, ret);
    return r > 0 ? answer_verdict(job, result, isolation, ret) : r;
}
