/* SPDX-License-Identifier: MIT */
#include "engine_private.h"

#include <string.h>

#define IDS_NAMED 5
/* A job that runs for less is not slow. */
#define SLOW_MS 1000

char *engine_name_pending(const struct engine *engine)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    pending_put(out, &engine->pending, IDS_NAMED);
    (void)fclose(out);
    return text;
}

/* --- progress ----------------------------------------------------------------------------- */

/* Inserts a job among the slowest. */
static void note_slow(struct progress_view *view, const char *id, int64_t ms)
{
    size_t at = view->n_slow;
    while (at > 0 && view->slow[at - 1].ms < ms)
        at--;
    if (at == PROGRESS_SLOW_MAX)
        return;
    view->n_slow = MIN(view->n_slow + 1, (size_t)PROGRESS_SLOW_MAX);
    memmove(view->slow + at + 1, view->slow + at, (view->n_slow - at - 1) * sizeof(view->slow[0]));
    view->slow[at] = (struct progress_job){.id = id, .ms = ms};
}

struct looking {
    struct progress_view *view;
    int64_t now;
};

static bool look_how_slow(struct pending_job *job, void *arg)
{
    const struct looking *looking = arg;
    int64_t ms = looking->now - job->since_ms;
    if (job->state == PENDING_RUNNING && ms >= SLOW_MS)
        note_slow(looking->view, job->id.data, ms);
    return true;
}

/* Sets the total: the jobs taken once no more input is taken, before that what the files seem to
 * hold. */
static void tell_total(const struct engine *engine, struct progress_view *view)
{
    const struct engine_work *work = &engine->work;
    uint64_t limit = (uint64_t)engine->options.limit;
    uint64_t cases = limit > 0 ? MIN(limit, work->cases) : work->cases;
    if (engine->phase != PHASE_SUBMITTING) {
        view->total = engine->taken;
    } else if (engine->options.filters.n == 0) {
        view->total = cases * MAX(work->samples, (uint64_t)1);
        view->about = work->about && cases == work->cases;
    }
}

static const char *state_of(const struct engine *engine)
{
    if (!engine_is_connected(engine))
        return "waiting for rubricd to come back";
    if (engine->phase == PHASE_CANCELLING)
        return "cancelling";
    if (engine->phase == PHASE_STOPPING)
        return "stopping: waiting for what runs";
    return engine->alone ? "running starved jobs alone" : engine->work.aside;
}

void engine_show_progress(struct engine *engine, int64_t now)
{
    const struct summary *summary = &engine->summary;
    const struct ledger *ledger = &engine->ledger;
    struct progress *progress = &engine->progress;
    if (now < progress_due(progress))
        return;
    struct progress_view view = {
        .done = engine->answered + ledger->kept,
        .passed = summary->passed + ledger->kept_passed,
        .failed = summary->failed + ledger->kept - ledger->kept_passed,
        .errors = summary->errors,
        .in_flight = pending_in_flight(&engine->pending),
        .waiting =
            engine->pending.counts[PENDING_WAITING] + engine->pending.counts[PENDING_STARVED],
        .rate = progress_rate(progress, engine->answered, now),
        .cost_usd = engine->cost_usd,
        .elapsed_ms = now - engine->started_ms,
        .state = state_of(engine),
    };
    struct looking looking = {.view = &view, .now = now};
    tell_total(engine, &view);
    pending_each(&engine->pending, look_how_slow, &looking);
    progress_show(progress, &view, now);
}

/* --- stalls ------------------------------------------------------------------------------- */

/* Each notice comes after twice the silence of the last. */
void engine_notice_stall(struct engine *engine, int64_t now)
{
    size_t n = pending_count(&engine->pending);
    if (n == 0 || !engine_expects_answers(engine) || now - engine->progressed_ms < engine->stall_ms)
        return;
    char silence[TEXT_QUANTITY_MAX];
    char *names = engine_name_pending(engine);
    engine_complain(engine, "nothing has finished for %s; still waiting for %zu job%s: %s",
                    text_duration(now - engine->progressed_ms, silence), n, text_plural(n),
                    names ? names : "");
    free(names);
    engine->stall_ms *= 2;
}
