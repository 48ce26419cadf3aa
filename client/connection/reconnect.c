/* SPDX-License-Identifier: MIT */
#include "reconnect.h"

#include <assert.h>
#include <string.h>

#define DELAY_FIRST_MS 50
#define DELAY_MAX_MS 2000

void reconnect_init(struct reconnect *reconnect, int64_t patience_ms)
{
    *reconnect = (struct reconnect){.patience_ms = patience_ms};
}

/* Whether the state may change from one to another. */
_unused_ static bool may_follow(enum reconnect_state from, enum reconnect_state to)
{
#define TO(state) (1U << (state))
    static const unsigned next[RECONNECT_STATES] = {
        [RECONNECT_NONE] = TO(RECONNECT_WAITING),
        /* To WAITING once more: the attempt failed at once. */
        [RECONNECT_WAITING] = TO(RECONNECT_WAITING) | TO(RECONNECT_GREETING) | TO(RECONNECT_NONE),
        [RECONNECT_GREETING] = TO(RECONNECT_WAITING) | TO(RECONNECT_NONE),
    };
#undef TO
    return next[from] >> to & 1;
}

static void enter(struct reconnect *reconnect, enum reconnect_state state)
{
    assert(may_follow(reconnect->state, state));
    reconnect->state = state;
}

void reconnect_begin(struct reconnect *reconnect, struct session *session, const struct fault *why,
                     int64_t now)
{
    assert(reconnect_is_connected(reconnect));
    session_disconnect(session);
    enter(reconnect, RECONNECT_WAITING);
    reconnect->next_ms = now;
    reconnect->delay_ms = DELAY_FIRST_MS;
    reconnect->give_up_ms = now + reconnect->patience_ms;
    reconnect->why = why ? *why : (struct fault)FAULT_NULL;
}

/* Schedules the next attempt after a failed one, with twice the delay. */
static void wait_again(struct reconnect *reconnect, struct session *session, int64_t now)
{
    assert(reconnect->state != RECONNECT_NONE);
    session_disconnect(session);
    enter(reconnect, RECONNECT_WAITING);
    reconnect->next_ms = now + reconnect->delay_ms;
    reconnect->delay_ms = MIN(reconnect->delay_ms * 2, (int64_t)DELAY_MAX_MS);
}

static enum reconnect_outcome take_greeting(struct reconnect *reconnect, struct session *session,
                                            int64_t now)
{
    _cleanup_message_ struct message hello = MESSAGE_NULL;
    int r = session_next(session, &hello, &reconnect->why);
    if (r == 0)
        return RECONNECT_GOES_ON;
    if (r > 0)
        r = session_take_hello(session, &hello, &reconnect->why);
    if (r == -EPROTO || r == -ENOMEM)
        return RECONNECT_GIVEN_UP; /* another program or protocol: trying again will not help */
    if (r < 0) {
        wait_again(reconnect, session, now); /* lost again, or refused for too many clients */
        return RECONNECT_GOES_ON;
    }
    enter(reconnect, RECONNECT_NONE);
    return RECONNECT_BACK;
}

enum reconnect_outcome reconnect_go_on(struct reconnect *reconnect, struct session *session,
                                       int64_t now)
{
    assert(reconnect->state != RECONNECT_NONE);
    assert((reconnect->state == RECONNECT_GREETING) == (session->fd >= 0));
    if (reconnect->state == RECONNECT_WAITING && now >= reconnect->next_ms) {
        if (session_reconnect(session, &reconnect->why) < 0)
            wait_again(reconnect, session, now);
        else
            enter(reconnect, RECONNECT_GREETING);
    }
    if (reconnect->state == RECONNECT_GREETING) {
        enum reconnect_outcome outcome = take_greeting(reconnect, session, now);
        if (outcome != RECONNECT_GOES_ON)
            return outcome;
    }
    return now >= reconnect->give_up_ms ? RECONNECT_GIVEN_UP : RECONNECT_GOES_ON;
}

void reconnect_give_up(struct reconnect *reconnect, struct session *session)
{
    session_disconnect(session);
    enter(reconnect, RECONNECT_NONE);
}

bool reconnect_is_connected(const struct reconnect *reconnect)
{
    return reconnect->state == RECONNECT_NONE;
}

int64_t reconnect_due(const struct reconnect *reconnect)
{
    if (reconnect->state == RECONNECT_NONE)
        return INT64_MAX;
    return reconnect->state == RECONNECT_WAITING ? MIN(reconnect->next_ms, reconnect->give_up_ms)
                                                 : reconnect->give_up_ms;
}
