/* SPDX-License-Identifier: MIT */
/* Theory of operation: an answer that does not count goes into the job's `run`, and the job stays
 * pending. A job that ended in an error runs again after a while, beside everything else. A job
 * that ended for lack of CPU runs again with nothing of this run beside it: while `alone` is
 * set the engine submits nothing else, and once everything in flight is answered the starved jobs
 * run one after the other. They wait until nothing else is left to do, or until too many of them
 * wait, so that the daemon need not run empty for each. */
#include "engine_private.h"
#include "runinfo.h"

#include <assert.h>
#include <string.h>

/* At most this many starved jobs wait at once. */
#define STARVED_MAX 64

/* Counts the earlier attempts whose answer did not count for the reason WHY. */
static size_t earlier_for(const json_t *run, const char *why)
{
    const json_t *earlier = json_object_get(run, "earlier");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(earlier); i++) {
        const char *reason = json_string_value(json_object_get(json_array_get(earlier, i), "why"));
        n += reason && strcmp(reason, why) == 0;
    }
    return n;
}

static bool retry(struct engine *engine, struct pending_job *job, const struct message *message)
{
    size_t failed = earlier_for(job->run, RUNINFO_ERROR) + 1;
    int64_t now = monotonic_ms();
    if (failed > engine->retries ||
        !attempt_is_retriable(message, engine->options.retry_all_errors) ||
        runinfo_add_earlier(job->run, RUNINFO_ERROR, message) < 0)
        return false;
    pending_enter(&engine->pending, job, PENDING_WAITING, now);
    job->due_ms = now + attempt_delay_ms(failed);
    return true;
}

/* Only once: a job that ends so with nothing beside it has had its chance. An error is retried then
 * like any other. A fleet has run the job again already, on another host. */
static bool rerun(struct engine *engine, struct pending_job *job, const struct message *message)
{
    if (engine->options.no_rerun_starved || engine->session.reruns_starved ||
        !attempt_is_starved(message) || earlier_for(job->run, RUNINFO_STARVED) > 0 ||
        runinfo_add_earlier(job->run, RUNINFO_STARVED, message) < 0)
        return false;
    pending_enter(&engine->pending, job, PENDING_STARVED, monotonic_ms());
    return true;
}

bool engine_tries_again(struct engine *engine, struct pending_job *job,
                        const struct message *message)
{
    assert(pending_is_in_flight(job));
    if (!engine_submits(engine))
        return false;
    return rerun(engine, job, message) ||
           (message->type != MESSAGE_RESULT && retry(engine, job, message));
}

static bool find_due(struct pending_job *job, void *arg)
{
    int64_t *next = arg;
    if (job->state == PENDING_WAITING)
        *next = MIN(*next, job->due_ms);
    return true;
}

int64_t engine_next_attempt(const struct engine *engine)
{
    int64_t next = INT64_MAX;
    if (engine->pending.counts[PENDING_WAITING] > 0 && engine_submits(engine) && !engine->alone)
        pending_each(&engine->pending, find_due, &next);
    return next;
}

struct due {
    struct engine *engine;
    int64_t now;
};

static bool submit_due(struct pending_job *job, void *arg)
{
    const struct due *due = arg;
    if (job->state == PENDING_WAITING && due->now >= job->due_ms)
        engine_submit_again(due->engine, job);
    return true;
}

static bool submit_starved(struct pending_job *job, void *arg)
{
    if (job->state != PENDING_STARVED)
        return true;
    engine_submit_again(arg, job);
    return false;
}

/* Whether it is the starved jobs' turn to run. */
static bool is_their_turn(const struct engine *engine)
{
    const size_t *counts = engine->pending.counts;
    size_t most = MIN((size_t)STARVED_MAX, MAX(engine->window / 2, (size_t)1));
    bool nothing_else = counts[PENDING_WAITING] == 0 && pending_in_flight(&engine->pending) == 0;
    return counts[PENDING_STARVED] > 0 &&
           (engine->alone || nothing_else || counts[PENDING_STARVED] >= most);
}

void engine_run_again(struct engine *engine, int64_t now)
{
    struct due due = {.engine = engine, .now = now};
    bool in_flight = pending_in_flight(&engine->pending) > 0;
    if (!engine_is_connected(engine) || engine->daemon_drains || !engine_submits(engine))
        return;
    engine->alone = is_their_turn(engine) || (engine->alone && in_flight);
    if (engine->alone && !in_flight)
        pending_each(&engine->pending, submit_starved, engine);
    else if (!engine->alone && engine_next_attempt(engine) <= now)
        pending_each(&engine->pending, submit_due, &due);
}
