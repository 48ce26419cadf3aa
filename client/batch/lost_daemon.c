/* SPDX-License-Identifier: MIT */
#include "engine_private.h"

#include <inttypes.h>
#include <string.h>

/* A private daemon does not come back, and who has asked twice to end does not wait for one. */
bool engine_waits_for_daemon(const struct engine *engine)
{
    return engine->reconnect.patience_ms > 0 && engine->phase < PHASE_CANCELLING;
}

bool engine_is_connected(const struct engine *engine)
{
    return engine->reconnect.state == RECONNECT_NONE;
}

/* No word comes from the daemon any more. */
void engine_lose_daemon(struct engine *engine, const char *why)
{
    size_t n = pending_count(&engine->pending);
    bool unread = engine->phase == PHASE_SUBMITTING;
    engine->phase = PHASE_OVER;
    if (n == 0 && !unread)
        return; /* it has done all that it was asked */
    engine->ending.lost = true;
    char *names = engine_name_pending(engine);
    engine_complain(engine, "%s; %zu job%s unanswered%s%s%s", why, n, n == 1 ? " is" : "s are",
                    n > 0 ? ": " : "", names ? names : "",
                    unread ? "; not all input was submitted" : "");
    free(names);
}

/* What was taken back has gone with the daemon. */
static bool find_withdrawn(struct pending_job *job, void *arg)
{
    struct pending_job **found = arg;
    *found = job->state == PENDING_WITHDRAWN ? job : NULL;
    return *found == NULL;
}

static void drop_withdrawn(struct engine *engine)
{
    while (engine->pending.counts[PENDING_WITHDRAWN] > 0) {
        struct pending_job *job = NULL;
        pending_each(&engine->pending, find_withdrawn, &job);
        pending_job_free(pending_take(&engine->pending, job));
        engine->withdrawn++;
    }
}

/* What the daemon has not answered it gets again when it is back. */
void engine_lose_connection(struct engine *engine, const char *why)
{
    drop_withdrawn(engine);
    size_t n = pending_count(&engine->pending);
    if (!engine_waits_for_daemon(engine) || (n == 0 && engine->phase != PHASE_SUBMITTING)) {
        engine_lose_daemon(engine, why);
        return;
    }
    engine_complain(engine,
                    "%s; waiting %" PRId64 " s at most for it to come back (%zu job%s in flight)",
                    why, engine->reconnect.patience_ms / 1000, n, text_plural(n));
    reconnect_begin(&engine->reconnect, &engine->session, monotonic_ms());
}

static bool submit_again(struct pending_job *job, void *arg)
{
    if (job->state == PENDING_QUEUED || job->state == PENDING_RUNNING)
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
        reconnect->state = RECONNECT_NONE;
        session_disconnect(&engine->session);
        engine_lose_daemon(engine, *reconnect->why.text ? reconnect->why.text : "rubricd is gone");
        break;
    case RECONNECT_BACK:
        engine_complain(engine, "rubricd %s is back: submitting %zu job%s again",
                        engine->session.version, n, text_plural(n));
        engine->draining = false;
        engine->progressed_ms = monotonic_ms();
        pending_each(&engine->pending, submit_again, engine);
        break;
    }
}
