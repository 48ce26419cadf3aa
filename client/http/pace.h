/* SPDX-License-Identifier: MIT */
#pragma once
/* How much of what clients have sent is read in one turn of the loop.
 *
 * Theory of operation. Nobody else is served while the one thread reads, and a stream may be
 * hundreds of megabytes of blank lines, or of lines that are wrong. So all streams and all bodies
 * of one job together have PACE_TURN bytes for a turn. What cannot be read in parts, a body or a
 * long line, takes what is left, however little that is: so at most one that is larger than
 * PACE_TURN is read in a turn. Whoever finds none left waits, and they go on once the loop has
 * looked at all connections. The shares of tokens take turns, and those of one share go on in the
 * order in which they came. */

#include "waiter.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_TURN ((size_t)64 << 10)
/* What a line or a body costs besides its bytes if it has an answer. */
#define PACE_LINE ((size_t)256)

struct pace {
    struct event *turn;
    struct waiters waiters;
    size_t left;    /* bytes that may yet be read in this turn */
    size_t rest_us; /* the pause before the next turn, after something large */
    uint64_t round; /* of the waiter that went on last */
};

/* Embedded in what has something to read; zero at first. */
struct pace_waiter {
    struct waiter waiter; /* its `again` is called when the turn has come */
    const char *share;    /* whose it is, by name; borrowed */
    uint64_t round;       /* those of one share have rounds one after the other */
};

/* 0 or -ENOMEM. */
int pace_init(struct pace *pace, struct event_base *base);
void pace_deinit(struct pace *pace);

/* Counts N bytes; there may be fewer left. */
void pace_spend(struct pace *pace, size_t n);

/* Whether N bytes that have to be read in one go may be read now; if so, they are counted. If not,
 * WAITER waits. */
bool pace_take(struct pace *pace, struct pace_waiter *waiter, size_t n);

/* WAITER is called from the loop in the next turn that has bytes left for it. It may wait already.
 */
void pace_wait(struct pace *pace, struct pace_waiter *waiter);
