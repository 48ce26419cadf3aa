/* SPDX-License-Identifier: MIT */
#include "engine_private.h"

#include "proto/printer.h"

#include <inttypes.h>

bool engine_cancel(struct engine *engine, const struct pending_job *job)
{
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    _cleanup_json_ json_t *cancel =
        json_pack("{s:s,s:s%}", "type", "cancel", "id", job->id.data, job->id.length);
    return cancel && json_print(cancel, &payload) == 0 &&
           session_send(&engine->session, payload.data, payload.length) == 0;
}

static bool withdraw_one(struct pending_job *job, void *arg)
{
    struct engine *engine = arg;
    if (job->state != PENDING_QUEUED)
        return true;
    if (!engine_cancel(engine, job))
        return false;
    pending_set_state(&engine->pending, job, PENDING_WITHDRAWN, monotonic_ms());
    return true;
}

size_t engine_withdraw(struct engine *engine)
{
    engine->stopped = true;
    if (engine->phase == PHASE_SUBMITTING)
        engine->phase = PHASE_FINISHING;
    pending_each(&engine->pending, withdraw_one, engine);
    return engine->pending.counts[PENDING_WITHDRAWN];
}

void engine_watch_cost(struct engine *engine)
{
    if (engine->stopped || engine->cost_usd <= engine->cost_cap)
        return;
    size_t withdrawn = engine_withdraw(engine);
    engine->ending.cost_capped = true;
    engine_complain(engine,
                    "the cost cap of $%.4f is passed: $%.4f so far; nothing more is submitted, %zu "
                    "queued job%s cancelled, %zu running awaited",
                    engine->cost_cap, engine->cost_usd, withdrawn, text_plural(withdrawn),
                    engine->pending.counts[PENDING_RUNNING]);
}

void engine_watch_failures(struct engine *engine, const struct pending_job *job, const char *how)
{
    if (engine->stopped || !engine->options.fail_fast)
        return;
    size_t withdrawn = engine_withdraw(engine);
    engine_complain(
        engine,
        "--fail-fast: %s %s; nothing more is submitted, %zu queued job%s cancelled, %zu "
        "running awaited",
        job->id.data, how, withdrawn, text_plural(withdrawn),
        engine->pending.counts[PENDING_RUNNING]);
}

void engine_tell_cost(struct engine *engine)
{
    if (engine->ending.cost_capped)
        complain("cost $%.4f with a cap of $%.4f: $%.4f more, of jobs that ran already when it was "
                 "passed",
                 engine->cost_usd, engine->cost_cap, engine->cost_usd - engine->cost_cap);
}
