/* SPDX-License-Identifier: MIT */
#include "engine_private.h"

#include "proto/printer.h"

#include <inttypes.h>

#define CANCEL_TIMEOUT_MS 5000

/* Asks the daemon to cancel JOB. False when memory runs out. */
static bool ask_to_cancel(struct engine *engine, const struct pending_job *job)
{
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    _cleanup_json_ json_t *cancel =
        json_pack("{s:s,s:s%}", "type", "cancel", "id", job->id.data, job->id.length);
    return cancel && json_print(cancel, &payload) == 0 &&
           session_send(&engine->session, payload.data, payload.length) == 0;
}

/* --- cost cap and --fail-fast ------------------------------------------------------------- */

static bool withdraw_one(struct pending_job *job, void *arg)
{
    struct engine *engine = arg;
    if (job->state != PENDING_QUEUED)
        return true;
    if (!ask_to_cancel(engine, job))
        return false;
    pending_enter(&engine->pending, job, PENDING_WITHDRAWN, monotonic_ms());
    return true;
}

/* Submits nothing more and takes back what waits in the daemon's queue. Returns how many jobs these
 * were. */
static size_t stop_and_withdraw(struct engine *engine)
{
    engine_enter(engine, PHASE_STOPPING);
    pending_each(&engine->pending, withdraw_one, engine);
    return engine->pending.counts[PENDING_WITHDRAWN];
}

void engine_check_cost(struct engine *engine)
{
    if (!engine_submits(engine) || engine->cost_usd <= engine->cost_cap)
        return;
    size_t withdrawn = stop_and_withdraw(engine);
    engine_note_cost_cap(engine);
    engine_complain(engine,
                    "the cost cap of $%.4f is passed: $%.4f so far; submitting nothing more, "
                    "taking back %zu queued job%s, waiting for %zu running",
                    engine->cost_cap, engine->cost_usd, withdrawn, text_plural(withdrawn),
                    engine->pending.counts[PENDING_RUNNING]);
}

void engine_check_failures(struct engine *engine, const struct pending_job *job, const char *how)
{
    if (!engine_submits(engine) || !engine->options.fail_fast)
        return;
    size_t withdrawn = stop_and_withdraw(engine);
    engine_complain(engine,
                    "--fail-fast: %s %s; submitting nothing more, taking back %zu queued job%s, "
                    "waiting for %zu running",
                    job->id.data, how, withdrawn, text_plural(withdrawn),
                    engine->pending.counts[PENDING_RUNNING]);
}

void engine_tell_cost(struct engine *engine)
{
    if (engine->ending.cost_capped)
        complain("the run cost $%.4f with a cap of $%.4f: jobs that were running when the cap was "
                 "passed cost $%.4f more",
                 engine->cost_usd, engine->cost_cap, engine->cost_usd - engine->cost_cap);
}

void engine_tell_withdrawn(struct engine *engine)
{
    uint64_t n = engine->withdrawn_begun;
    if (n > 0)
        complain("%" PRIu64 " job%s began before rubricd read that %s taken back, and %s ended: "
                 "what that cost is not known",
                 n, text_plural(n), n == 1 ? "it was" : "they were", n == 1 ? "was" : "were");
}

/* --- signals ------------------------------------------------------------------------------ */

/* The first signal: jobs that wait for another attempt stay unanswered. */
static void begin_to_stop(struct engine *engine)
{
    size_t n = pending_in_flight(&engine->pending);
    if (engine_submits(engine)) /* otherwise the cost cap or --fail-fast has stopped it */
        engine_enter(engine, PHASE_STOPPING);
    if (n > 0 && !engine->work.aside)
        engine_complain(engine,
                        "interrupted: submitting nothing more; waiting for %zu job%s in flight "
                        "(interrupt again to cancel)",
                        n, text_plural(n));
}

static bool cancel_one(struct pending_job *job, void *arg)
{
    bool is_live = job->state == PENDING_QUEUED || job->state == PENDING_RUNNING;
    return !is_live || ask_to_cancel(arg, job);
}

static void cancel_all(struct engine *engine)
{
    size_t n = pending_in_flight(&engine->pending);
    engine_complain(engine, "cancelling %zu job%s", n, text_plural(n));
    engine_enter(engine, PHASE_CANCELLING);
    engine->cancel_deadline_ms = monotonic_ms() + CANCEL_TIMEOUT_MS;
    pending_each(&engine->pending, cancel_one, engine);
}

void engine_take_signal(struct engine *engine)
{
    bool again = engine->ending.interrupted;
    engine_note_interrupt(engine);
    if (engine->phase >= PHASE_CANCELLING)
        engine_enter(engine, PHASE_ABORTED);
    else if (!engine_is_connected(engine))
        engine_lose_daemon(engine, "interrupted while rubricd was gone");
    else if (!again)
        begin_to_stop(engine);
    if (engine->phase == PHASE_STOPPING && (again || engine->work.aside))
        cancel_all(engine);
}

void engine_check_cancelling(struct engine *engine, int64_t now)
{
    if (engine->phase == PHASE_CANCELLING && now >= engine->cancel_deadline_ms)
        engine_enter(engine, PHASE_FLUSHING);
}
