/* SPDX-License-Identifier: MIT */
#include "engine_private.h"
#include "explain.h"
#include "runinfo.h"

#include "proto/printer.h"

#include <string.h>

/* How often a job is sent again at once when the daemon has dropped its tests. After that it waits,
 * as after any error. */
#define TIMES_LOST_MAX 3
/* Bytes of a job's name in the summary, with the NUL. */
#define JOB_NAME_MAX 512

/* Writes "jobs.jsonl:7: id" into OUT, or one of the two where the other says nothing more. */
static const char *name_job(const struct pending_job *job, char out[JOB_NAME_MAX])
{
    const char *place = job->place ? job->place : "";
    bool is_place = strcmp(place, job->id.data) == 0;
    (void)snprintf(out, JOB_NAME_MAX, "%s%s%s", place, *place && !is_place ? ": " : "",
                   is_place ? "" : job->id.data);
    return out;
}

static void count(struct engine *engine, const struct message *message,
                  const struct pending_job *job)
{
    char name[JOB_NAME_MAX];
    if (message->type == MESSAGE_RESULT) {
        struct score_parts parts = message_score(message);
        summary_add_result(&engine->summary, &parts);
        if (!parts.passed)
            engine_note_failed_job(engine);
        explain_to_summary(message, name_job(job, name), &engine->summary);
    } else {
        char why[EXPLAIN_MAX];
        const char *code = message_text(message, "code");
        explain_error(message, &job->payload, why);
        summary_add_error(&engine->summary, code, name_job(job, name), why);
        engine_note_job_error(engine);
        if (strcmp(code, "draining") == 0)
            engine_note_draining(engine);
    }
    engine->answered++;
}

static int make_line(struct engine *engine, struct message *message, struct pending_job *job,
                     struct bytes *ret)
{
    int r = engine->work.answer(engine->work.arg, message, job->note, ret);
    if (engine->work.aside)
        return r;
    if (r == 0)
        r = runinfo_finish(job->run, engine->session.version);
    if (r == 0)
        r = runinfo_set_starvation(job->run, message->object);
    /* A line that keeps its job's id in `run` lacks the fields of the answer. */
    if (r == 0 && json_object_get(job->run, "id"))
        r = runinfo_set_circumstances(job->run, message->object);
    /* Write the host once for each daemon: it is the same for all its answers. */
    if (r == 0 && engine->session.host)
        r = runinfo_set_host(job->run, TAKE_PTR(engine->session.host));
    return r < 0 ? r : runinfo_splice(ret, job->run);
}

static void record(struct engine *engine, struct message *message, struct pending_job *job)
{
    _cleanup_bytes_ struct bytes line = BYTES_NULL;
    count(engine, message, job);
    if (make_line(engine, message, job, &line) < 0 ||
        (!engine->work.aside && output_line(&engine->output, line.data, line.length) < 0)) {
        engine_complain(engine, "out of memory");
        engine_note_lost(engine);
        engine_enter(engine, PHASE_ABORTED);
    }
}

/* A daemon that drains did not run this job to its end: the next daemon gets it. */
static bool is_put_off(struct engine *engine, const struct message *message)
{
    if (message->type != MESSAGE_ERROR || !engine_waits_for_daemon(engine) ||
        strcmp(message_text(message, "code"), "draining") != 0)
        return false;
    engine_note_draining(engine);
    return true;
}

/* A job that this client took back itself has no answer, and gets no line. */
static bool confirms_withdrawal(const struct pending_job *job, const struct message *message)
{
    return job->state == PENDING_WITHDRAWN && message->type == MESSAGE_ERROR &&
           strcmp(message_text(message, "code"), "cancelled") == 0;
}

/* An error that names no job is about one that the daemon could not read, or about the connection,
 * which ends then: asks for a sign of life. */
static void suspect(struct engine *engine, const struct message *message)
{
    static const char ping[] = "{\"type\":\"ping\"}";
    engine->doubtful++;
    json_decref(engine->unread_error);
    engine->unread_error = json_incref(message->object);
    (void)session_send(&engine->session, ping, strlen(ping));
}

static bool names_a_job(const struct message *message)
{
    return json_object_get(message->object, "id") || json_object_get(message->object, "job_no");
}

static void take_unexpected(struct engine *engine, const struct message *message)
{
    if (message->type == MESSAGE_ERROR && !names_a_job(message))
        suspect(engine, message);
    /* A cancel may cross the answer of its job; the daemon then answers that it knows no such
     * job. */
    if (message->type == MESSAGE_ERROR && !engine_submits(engine))
        return;
    progress_clear(&engine->progress);
    if (message->type == MESSAGE_ERROR)
        complain("rubricd: %s: %s", message_text(message, "code"),
                 message_text(message, "message"));
    else
        session_unexpected(message);
}

/* Returns the job that MESSAGE is about; NULL if there is none. */
static struct pending_job *job_of(const struct engine *engine, const struct message *message)
{
    const json_t *id = json_object_get(message->object, "id");
    return json_is_string(id)
               ? pending_find(&engine->pending, json_string_value(id), json_string_length(id))
               : NULL;
}

static void note_flakiness(struct engine *engine, const struct pending_job *job, bool passed)
{
    const json_t *id = json_object_get(job->run, "case_id");
    if (engine->flakiness &&
        flakiness_add(engine->flakiness, json_string_value(id), json_string_length(id), passed) < 0)
        engine_complain(engine, "out of memory");
}

/* Records an answer that counts. JOB is no longer in the set. */
static void conclude_job(struct engine *engine, struct message *message, struct pending_job *job)
{
    bool is_result = message->type == MESSAGE_RESULT;
    bool passed = is_result && message_score(message).passed;
    if (is_result)
        note_flakiness(engine, job, passed);
    record(engine, message, job);
    if (!passed)
        engine_check_failures(engine, job, is_result ? "did not pass" : "ended in an error");
}

/* Makes MESSAGE, with which the daemon says that it lacks the tests of a job, the ERROR with which
 * it refused them. */
static int blame_tests(struct engine *engine, json_t *error, struct message *message)
{
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    struct message blamed = MESSAGE_NULL;
    struct fault fault = FAULT_NULL;
    _cleanup_json_ json_t *object = json_copy(message->object);
    static const char *const names[] = {"code", "message", "retriable"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (json_object_set(object, names[i], json_object_get(error, names[i])) < 0)
            return -ENOMEM;
    if (json_print(object, &payload) < 0 ||
        message_decode(&payload, &engine->session.tail, &blamed, &fault) < 0)
        return -ENOMEM;
    message_deinit(message);
    *message = blamed;
    return 0;
}

/* Sends JOB again, with its tests, if the daemon has dropped those meanwhile. Returns whether it
 * does. */
static bool is_sent_with_tests(struct engine *engine, struct pending_job *job,
                               struct message *message)
{
    _cleanup_json_ json_t *refusal = NULL;
    bool were_lost = puts_were_lost(&engine->puts, &job->tests, message, &refusal);
    if (refusal && blame_tests(engine, refusal, message) < 0)
        engine_complain(engine, "out of memory");
    if (!were_lost || job->times_lost == TIMES_LOST_MAX || job->state == PENDING_WITHDRAWN ||
        !engine_submits(engine))
        return false;
    job->times_lost++;
    engine_submit_again(engine, job);
    return true;
}

static void take_answer(struct engine *engine, struct message *message)
{
    struct pending_job *job = job_of(engine, message);
    /* A job that waits here for another attempt has had its answer already. */
    if (!job || !pending_is_in_flight(job)) {
        take_unexpected(engine, message);
        return;
    }
    if (is_put_off(engine, message) || is_sent_with_tests(engine, job, message))
        return;
    if (message->type == MESSAGE_RESULT)
        engine->cost_usd += message_score(message).cost_usd;
    engine->progressed_ms = monotonic_ms();
    engine->stall_ms = ENGINE_STALL_FIRST_MS;
    if (!engine_tries_again(engine, job, message)) {
        bool withdrawn = confirms_withdrawal(job, message);
        engine->withdrawn_begun += withdrawn && job->begun;
        (void)pending_take(&engine->pending, job);
        if (withdrawn)
            engine->withdrawn++;
        else
            conclude_job(engine, message, job);
        pending_job_free(job);
    }
    engine_check_cost(engine);
}

static bool find_queued(struct pending_job *job, void *arg)
{
    struct pending_job **found = arg;
    if (job->state == PENDING_QUEUED)
        *found = job;
    return !*found;
}

/* Gives JOB the last error that named no job. */
static int answer_unread(struct engine *engine, const struct pending_job *job)
{
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    _cleanup_message_ struct message message = MESSAGE_NULL;
    struct fault fault = FAULT_NULL;
    _cleanup_json_ json_t *object = json_copy(engine->unread_error);
    if (!object ||
        json_object_set_new(object, "id", json_stringn(job->id.data, job->id.length)) < 0 ||
        json_print(object, &payload) < 0 ||
        message_decode(&payload, &engine->session.tail, &message, &fault) < 0)
        return -ENOMEM;
    take_answer(engine, &message);
    return 0;
}

/* The daemon answers every job that it has read. So as soon as no other job waits to start, those
 * that do are the ones that it could not read. */
static void settle_unread(struct engine *engine)
{
    const size_t *counts = engine->pending.counts;
    while (engine->unread > 0 && engine_submits(engine) && counts[PENDING_WITHDRAWN] == 0 &&
           counts[PENDING_QUEUED] == engine->unread) {
        struct pending_job *job = NULL;
        pending_each(&engine->pending, find_queued, &job);
        engine->unread--;
        if (answer_unread(engine, job) < 0) {
            engine_complain(engine, "out of memory");
            engine_note_lost(engine);
            engine_enter(engine, PHASE_ABORTED);
        }
    }
}

static void take_started(struct engine *engine, const struct message *message)
{
    struct pending_job *job = job_of(engine, message);
    if (job && job->state == PENDING_QUEUED)
        pending_enter(&engine->pending, job, PENDING_RUNNING, monotonic_ms());
    else if (job && job->state == PENDING_WITHDRAWN)
        job->begun = true; /* the daemon had not read the cancel yet */
}

static void take_message(struct engine *engine, struct message *message)
{
    /* A job may have any id, also one that looks like that of a put. */
    if (!job_of(engine, message) && puts_take_answer(&engine->puts, message))
        return;
    if (message->type == MESSAGE_RESULT || message->type == MESSAGE_ERROR) {
        take_answer(engine, message);
    } else if (message->type == MESSAGE_STARTED) {
        take_started(engine, message);
    } else if (message->type == MESSAGE_PONG) {
        engine->unread += engine->doubtful;
        engine->doubtful = 0;
    } else if (message->type != MESSAGE_OUTPUT) { /* the result repeats what a job streams */
        progress_clear(&engine->progress);
        session_unexpected(message);
    }
}

void engine_take_messages(struct engine *engine)
{
    while (engine_expects_answers(engine)) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        struct fault fault = FAULT_NULL;
        int r = session_next(&engine->session, &message, &fault);
        if (r == 0)
            return;
        if (r == -ECONNRESET) {
            engine_lose_connection(engine, fault.text);
            return;
        }
        if (r < 0) {
            engine_lose_daemon(engine, fault.text);
            return;
        }
        take_message(engine, &message);
        settle_unread(engine);
    }
}

/* The file stays readable. An answer that is not in it counts as none when the run is resumed. */
static void fail_to_write(struct engine *engine, int error)
{
    const struct output *output = &engine->output;
    engine_note_unwritten(engine);
    engine_enter(engine, PHASE_ABORTED);
    if (output->ours)
        engine_complain(
            engine,
            "cannot write %s: %s; submitting nothing more. All lines in the file are whole; "
            "--resume continues it",
            output->path, strerror(error));
    else
        engine_complain(engine, "cannot write the output: %s", strerror(error));
}

void engine_write_output(struct engine *engine)
{
    int64_t now = monotonic_ms();
    if (output_unwritten(&engine->output) > 0 && engine->progress.live && isatty(engine->output.fd))
        progress_clear(&engine->progress);
    int r = output_flush(&engine->output, now);
    if (r == 0)
        r = output_sync(&engine->output, false, now);
    if (r == -EPIPE) {
        engine->reader_gone = true;
        engine_note_interrupt(engine);
        engine_enter(engine, PHASE_ABORTED);
    } else if (r < 0) {
        fail_to_write(engine, -r);
    }
}

void engine_finish_output(struct engine *engine)
{
    int r = engine->ending.unwritten ? 0 : output_sync(&engine->output, true, monotonic_ms());
    if (r < 0)
        fail_to_write(engine, -r);
}
