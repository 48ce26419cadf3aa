/* SPDX-License-Identifier: MIT */
#pragma once
/* The states of a connection (conn.h), and their order. */

#include <stdbool.h>

enum conn_state {
    CONN_OPEN,
    CONN_HALF_CLOSED, /* the client has shut down its sending side and still takes replies */
    CONN_FLUSHING,    /* closing: sends what is unsent, receives nothing */
    CONN_LINGERING,   /* our side is shut down; discards what the client still sends */
    CONN_CLOSED,      /* to be freed from the event loop */
};

/* Whether a connection may go from STATE to NEXT. */
static inline bool conn_may_follow(enum conn_state state, enum conn_state next)
{
    switch (next) {
    case CONN_OPEN:
        return false;
    case CONN_HALF_CLOSED:
        return state == CONN_OPEN;
    case CONN_FLUSHING:
        return state == CONN_OPEN || state == CONN_HALF_CLOSED;
    case CONN_LINGERING:
        return state == CONN_FLUSHING;
    case CONN_CLOSED:
        return state != CONN_CLOSED;
    }
    return false;
}
