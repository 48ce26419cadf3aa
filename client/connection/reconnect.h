/* SPDX-License-Identifier: MIT */
#pragma once
/* Reconnects to a daemon that went away: schedules the attempts and gives up after a while. Times
 * are monotonic milliseconds. */

#include "session.h"

enum reconnect_state {
    RECONNECT_NONE,     /* the connection is not lost */
    RECONNECT_WAITING,  /* the next attempt is due at next_ms */
    RECONNECT_GREETING, /* connected, and waiting for the hello */
    RECONNECT_STATES,
};

enum reconnect_outcome {
    RECONNECT_GOES_ON, /* wait for the session's descriptor or until reconnect_due() */
    RECONNECT_BACK,
    RECONNECT_GIVEN_UP,
};

struct reconnect {
    enum reconnect_state state;
    int64_t patience_ms; /* 0: do not wait for a lost daemon */
    int64_t next_ms;
    int64_t delay_ms;
    int64_t give_up_ms;
    struct fault why; /* why the connection was lost, then why the last attempt failed */
};

void reconnect_init(struct reconnect *reconnect, int64_t patience_ms);

/* Call this when the connection is lost: disconnects SESSION and makes an attempt due at once.
 * reconnect->why is a copy of WHY until an attempt fails; NULL leaves it empty. */
void reconnect_begin(struct reconnect *reconnect, struct session *session, const struct fault *why,
                     int64_t now);

/* Continues when an attempt is due or SESSION can be read. RECONNECT_BACK: the hello has come and
 * SESSION can be used. RECONNECT_GIVEN_UP: it has waited for patience_ms, or the daemon cannot be
 * used; reconnect->why says which. */
enum reconnect_outcome reconnect_go_on(struct reconnect *reconnect, struct session *session,
                                       int64_t now);

/* Ends the attempts and disconnects SESSION for good; reconnect->why stays. */
void reconnect_give_up(struct reconnect *reconnect, struct session *session);

/* Returns whether no connection is being restored: true before reconnect_begin(), after
 * RECONNECT_BACK and after reconnect_give_up(). */
bool reconnect_is_connected(const struct reconnect *reconnect);

/* Returns when to call reconnect_go_on() at the latest; INT64_MAX: never. */
int64_t reconnect_due(const struct reconnect *reconnect);
