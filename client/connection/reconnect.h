/* SPDX-License-Identifier: MIT */
#pragma once
/* Getting back to a daemon that went away: when the next attempt is due, and when to give up. Times
 * are monotonic milliseconds. */

#include "session.h"

enum reconnect_state {
    RECONNECT_NONE,     /* nothing is lost */
    RECONNECT_WAITING,  /* for next_ms */
    RECONNECT_GREETING, /* connected; its hello is awaited */
};

enum reconnect_outcome {
    RECONNECT_GOES_ON, /* wait for the session's descriptor, or for reconnect_wait() */
    RECONNECT_BACK,
    RECONNECT_GIVEN_UP,
};

struct reconnect {
    enum reconnect_state state;
    int64_t patience_ms; /* 0: a lost daemon is not waited for */
    int64_t next_ms;
    int64_t delay_ms;
    int64_t give_up_ms;
    struct fault why; /* what the last attempt met */
};

void reconnect_init(struct reconnect *reconnect, int64_t patience_ms);

/* The connection is lost: SESSION is closed, and an attempt is due at once. */
void reconnect_begin(struct reconnect *reconnect, struct session *session, int64_t now);

/* Goes on with it: once time has come, or when something can be read from SESSION. */
enum reconnect_outcome reconnect_go_on(struct reconnect *reconnect, struct session *session,
                                       int64_t now);

/* When reconnect_go_on() is to be called though nothing has happened; INT64_MAX: never. */
int64_t reconnect_due(const struct reconnect *reconnect);
