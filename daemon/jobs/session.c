/* SPDX-License-Identifier: MIT */
#include "session.h"
#include "settings.h"

#include "daemon/base/clock.h"
#include "daemon/base/events.h"

#include <event2/event.h>

const char *session_end_name(enum session_end end)
{
    static const char *const names[SESSION_ENDS] = {
        [SESSION_CLOSED] = "closed",    [SESSION_CLIENT_GONE] = "client_gone",
        [SESSION_LEASE_OVER] = "lease", [SESSION_IDLE] = "idle",
        [SESSION_DRAINED] = "draining", [SESSION_LOST] = "lost",
    };
    return names[end];
}

void session_enter(struct session *session, enum session_state state)
{
    assert(state == session->state + 1);
    assert(state != SESSION_ENDED || !session->job);
    session->state = state;
}

void session_begin(struct session *session, struct job *job)
{
    assert(session->state == SESSION_OPEN && !session->job);
    session->job = job;
    session->commands++;
}

void session_forget(struct session *session)
{
    assert(session->job);
    session->job = NULL;
    session->idle_since_ns = clock_now_ns();
    session_arm(session);
}

void session_settle(const struct session *session, struct job_spec *spec)
{
    struct session_spec *command = &spec->session;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        if (!(command->limits_given & 1u << limit))
            spec->limits.of[limit] = session->wish.limits.of[limit];
    command->common_env = session->wish.env;
}

uint64_t session_due_ms(const struct session *session, uint64_t now_ns, enum session_end *ret_end)
{
    uint64_t lease_ns = session->opened_ns + session->wish.lease_ms * NS_PER_MS;
    uint64_t idle_ns = session->idle_since_ns + session->wish.idle_ms * NS_PER_MS;
    bool is_idle_first = !session->job && idle_ns < lease_ns;
    uint64_t due_ns = is_idle_first ? idle_ns : lease_ns;
    *ret_end = is_idle_first ? SESSION_IDLE : SESSION_LEASE_OVER;
    return due_ns > now_ns ? (due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
}

void session_arm(struct session *session)
{
    enum session_end ignored;
    uint64_t due_ms = session_due_ms(session, clock_now_ns(), &ignored);
    const struct timeval wait = {.tv_sec = (time_t)(due_ms / 1000),
                                 .tv_usec = (suseconds_t)(due_ms % 1000 * 1000)};
    if (session->state == SESSION_OPEN)
        (void)event_add(session->timer, &wait);
}

void session_free(struct session *session)
{
    assert(!session->job);
    session->timer = consume_event(session->timer);
    bytes_deinit(&session->close_id);
    free(session->share);
    session_wish_deinit(&session->wish);
    session->settings = settings_unref(session->settings);
    free(session);
}
