/* SPDX-License-Identifier: MIT */
#include "engine_private.h"

#include <assert.h>
#include <inttypes.h>

void engine_lose_daemon(struct engine *engine, const char *why)
{
    size_t n = pending_count(&engine->pending);
    bool unread = engine->phase == PHASE_SUBMITTING;
    if (engine_expects_answers(engine))
        engine_enter(engine, PHASE_FLUSHING);
    if (n == 0 && !unread)
        return; /* the daemon has done all that it was asked */
    engine_note_lost(engine);
    char *names = engine_name_pending(engine);
    engine_complain(engine, "%s; %zu job%s unanswered%s%s%s", why, n, n == 1 ? " is" : "s are",
                    n > 0 ? ": " : "", names ? names : "",
                    unread ? "; not all input was submitted" : "");
    free(names);
}

static bool find_withdrawn(struct pending_job *job, void *arg)
{
    struct pending_job **found = arg;
    *found = job->state == PENDING_WITHDRAWN ? job : NULL;
    return *found == NULL;
}

/* The withdrawn jobs went with the daemon: nothing answers their cancellation any more. */
static void drop_withdrawn(struct engine *engine)
{
    while (engine->pending.counts[PENDING_WITHDRAWN] > 0) {
        struct pending_job *job = NULL;
        pending_each(&engine->pending, find_withdrawn, &job);
        pending_job_free(pending_take(&engine->pending, job));
        engine->withdrawn++;
    }
}

void engine_lose_connection(struct engine *engine, const char *why)
{
    drop_withdrawn(engine);
    puts_deinit(&engine->puts); /* they went with the connection */
    engine->unread = engine->doubtful = 0;
    size_t n = pending_count(&engine->pending);
    if (!engine_waits_for_daemon(engine) || (n == 0 && engine->phase != PHASE_SUBMITTING)) {
        engine_lose_daemon(engine, why);
        return;
    }
    engine_complain(engine,
                    "%s; waiting at most %" PRId64 " s for it to come back (%zu job%s in flight)",
                    why, engine->reconnect.patience_ms / 1000, n, text_plural(n));
    reconnect_begin(&engine->reconnect, &engine->session, NULL, monotonic_ms());
}

static bool submit_again(struct pending_job *job, void *arg)
{
    if (pending_is_in_flight(job))
        engine_submit_again(arg, job);
    return true;
}

void engine_go_on_connecting(struct engine *engine)
{
    struct reconnect *reconnect = &engine->reconnect;
    size_t n = pending_in_flight(&engine->pending);
    switch (reconnect_go_on(reconnect, &engine->session, monotonic_ms())) {
    case RECONNECT_GOES_ON:
        break;
    case RECONNECT_GIVEN_UP:
        reconnect_give_up(reconnect, &engine->session);
        engine_lose_daemon(engine, *reconnect->why.text ? reconnect->why.text : "rubricd is gone");
        break;
    case RECONNECT_BACK:
        engine_complain(engine, "rubricd %s is back: submitting %zu job%s again",
                        engine->session.version, n, text_plural(n));
        assert(engine->pending.counts[PENDING_WITHDRAWN] == 0);
        engine_note_daemon_back(engine);
        pending_each(&engine->pending, submit_again, engine);
        break;
    }
}
