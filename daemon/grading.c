/* SPDX-License-Identifier: MIT */
#include "grading.h"
#include "answer.h"
#include "clock.h"

#include <inttypes.h>
#include <string.h>

/* stderr of a failed rubric that goes into the log. */
#define LOG_STDERR_BYTES 400

static void log_answer(const struct supervisor *supervisor, const struct job *job,
                       const struct answer *answer, const struct bytes *err)
{
    char who[256];
    (void)snprintf(who, sizeof(who), "job %" PRIu64 " (client %" PRIu64 ", uid %d, pid %d, id %s)",
                   job->number, job->client_no, (int)job->peer.uid, (int)job->peer.pid,
                   job->id.data);
    const char *task_class = job->spec->rubric.task_class;
    if (!answer->is_result) {
        bool ours = answer->code == ERROR_SANDBOX_FAILED || answer->code == ERROR_INTERNAL;
        log_write(&supervisor->log, ours ? LOG_WARNING : LOG_INFO, "%s: %s: %s", who, task_class,
                  answer->what);
    } else if (answer->rubric_failed) {
        log_write(&supervisor->log, LOG_INFO, "%s: %s: %s after %" PRId64 " ms; stderr: %.*s", who,
                  task_class, answer->what, answer->usage.wall_clock_ms,
                  err ? (int)MIN(err->length, (size_t)LOG_STDERR_BYTES) : 0, err ? err->data : "");
    } else {
        log_write(&supervisor->log, LOG_INFO, "%s: %s: %s, score %g, %" PRId64 " ms", who,
                  task_class, answer->passed ? "passed" : answer->what, answer->score,
                  answer->usage.wall_clock_ms);
    }
}

/* Sends the answer, counts it, and ends the job. R is negative where there is no answer because
 * memory ran out while it was made. */
static void deliver(struct supervisor *supervisor, struct job *job, int r, struct answer *answer,
                    const struct bytes *err)
{
    if (r < 0)
        r = answer_error(job, ERROR_INTERNAL, "out of memory", answer);
    if (answer->is_result)
        stats_count_result(&supervisor->stats, answer->passed);
    else
        stats_count_error(&supervisor->stats, answer->code);
    if (answer->rubric_failed ||
        (!answer->is_result && answer->code != ERROR_CANCELLED && answer->code != ERROR_DRAINING))
        stats_add_failure(&supervisor->stats, job, answer->what);
    log_answer(supervisor, job, answer, err);

    struct conn *conn = job->conn;
    if (conn) {
        TAILQ_REMOVE(&conn->jobs, job, of_conn);
        if (job->slot)
            conn->running--;
        if (r == 0)
            conn_send(conn, &answer->payload);
        else
            conn_close(conn); /* a job without an answer would break the promise */
        conn_job_finished(conn);
    }
    job_free(job);
    event_active(supervisor->turn, 0, 0);
}

void grading_answer_error(struct supervisor *supervisor, struct job *job, enum error_code code,
                          const char *message)
{
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    int r = answer_error(job, code, message, &answer);
    deliver(supervisor, job, r, &answer, NULL);
}

void grading_answer_sut(struct supervisor *supervisor, struct job *job)
{
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    int r = answer_from_sut(job, supervisor->isolation.summary, &answer);
    deliver(supervisor, job, r, &answer, NULL);
}

/* --- the pool's callbacks ------------------------------------------------------------------ */

static void launch_rubric(struct supervisor *supervisor, struct slot *slot, struct job *job)
{
    struct fault fault = FAULT_NULL;
    enum error_code code = ERROR_INTERNAL;
    _cleanup_free_ char *path = NULL;
    int r =
        rubric_find(&job->spec->rubric, &supervisor->roots, &path, &job->task_class, &code, &fault);
    if (r < 0) {
        grading_answer_error(supervisor, job, code, fault.text);
        return;
    }
    /* -s: no packages of the account's own; -B: no __pycache__ is written beside the helpers. */
    const char *argv[] = {supervisor->config->interpreter, "-s", "-B", path, NULL};
    struct launch launch = {
        .argv = argv,
        .envp = (const char *const *)supervisor->isolation.environment,
        .limits = job->spec->limits,
        .input = &job->spec->rubric.input,
    };
    r = slot_run(slot, &launch, job->number, job);
    if (r < 0) {
        (void)snprintf(fault.text, sizeof(fault.text),
                       "the job could not be handed to its jail: %s", strerror(-r));
        grading_answer_error(supervisor, job, ERROR_SANDBOX_FAILED, fault.text);
        return;
    }
    job->slot = slot;
    job->conn->running++;
    /* The kernel holds the text now. */
    bytes_deinit(&job->spec->rubric.input);
}

static void on_launch(struct slot *slot, struct queue_entry *entry, void *userdata)
{
    struct supervisor *supervisor = userdata;
    struct job *job = container_of(entry, struct job, entry);
    job->launched_ns = clock_now_ns();
    launch_rubric(supervisor, slot, job);
    event_active(supervisor->turn, 0, 0); /* there is room in the queue */
}

static void on_started(struct slot *slot, void *owner, void *userdata)
{
    const struct job *job = owner;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    (void)userdata;
    if (job->conn && reply_started(&job->id, job->number, slot->index, &payload) == 0)
        conn_send(job->conn, &payload);
}

static void on_done(struct slot *slot, void *owner, const struct slot_result *result,
                    void *userdata)
{
    struct supervisor *supervisor = userdata;
    struct job *job = owner;
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    (void)slot;
    int r = answer_from_slot(job, result, supervisor->isolation.summary, &answer);
    deliver(supervisor, job, r, &answer, result->err);
}

static void on_stopped(void *userdata)
{
    struct supervisor *supervisor = userdata;
    event_active(supervisor->turn, 0, 0);
}

const struct pool_ops grading_pool_ops = {
    .launch = on_launch,
    .started = on_started,
    .done = on_done,
    .stopped = on_stopped,
};
