/* SPDX-License-Identifier: MIT */
/* Theory of operation: an answer that does not count is put into the job's `run`, and the job stays
 * pending here. An error is tried again after a while, beside everything else. A timeout that
 * lacked CPU is tried again with nothing of this run beside it: while `alone` is set nothing is
 * submitted, and when all that is in flight has been answered the starved jobs run, one after the
 * other. So that the daemon does not have to run empty for each of them, they wait until there is
 * nothing else to do, or until there are too many. */
#include "engine_private.h"
#include "runinfo.h"

#include <string.h>

/* Starved jobs that wait at once. */
#define STARVED_MAX 64

/* How many of the earlier attempts were for the reason WHY. */
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
    pending_set_state(&engine->pending, job, PENDING_WAITING, now);
    job->due_ms = now + attempt_delay_ms(failed);
    return true;
}

/* Once: what times out with nothing beside it has had its chance. */
static bool rerun(struct engine *engine, struct pending_job *job, const struct message *message)
{
    if (engine->options.no_rerun_starved || !attempt_is_starved(message) ||
        earlier_for(job->run, RUNINFO_STARVED) > 0 ||
        runinfo_add_earlier(job->run, RUNINFO_STARVED, message) < 0)
        return false;
    pending_set_state(&engine->pending, job, PENDING_STARVED, monotonic_ms());
    return true;
}

bool engine_tries_again(struct engine *engine, struct pending_job *job,
                        const struct message *message)
{
    if (engine->stopped || engine->phase > PHASE_FINISHING)
        return false;
    return message->type == MESSAGE_RESULT ? rerun(engine, job, message)
                                           : retry(engine, job, message);
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
    if (engine->pending.counts[PENDING_WAITING] > 0 && !engine->stopped && !engine->alone)
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

/* Whether the starved jobs have to be seen to now. */
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
    if (!engine_is_connected(engine) || engine->draining || engine->stopped ||
        engine->phase > PHASE_FINISHING)
        return;
    engine->alone = is_their_turn(engine) || (engine->alone && in_flight);
    if (engine->alone && !in_flight)
        pending_each(&engine->pending, submit_starved, engine);
    else if (!engine->alone && engine_next_attempt(engine) <= now)
        pending_each(&engine->pending, submit_due, &due);
}
