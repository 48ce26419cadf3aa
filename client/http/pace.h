/* SPDX-License-Identifier: MIT */
#pragma once
/* How much of the streams of jobs is read in one turn of the loop.
 *
 * Theory of operation. Nobody else is served while the one thread reads, and a stream may be
 * hundreds of megabytes of blank lines, or of lines that are wrong. So all streams together have
 * PACE_TURN bytes for a turn. Whoever finds none left waits, and they go on in the order in which
 * they came, once the loop has looked at all connections. */

#include "waiter.h"

#include <event2/event.h>
#include <stddef.h>

#define PACE_TURN ((size_t)64 << 10)
/* What a line costs besides its bytes if it has an answer. */
#define PACE_LINE ((size_t)256)

struct pace {
    struct event *turn;
    struct waiters waiters;
    size_t left; /* bytes that may yet be read in this turn */
};

/* 0 or -ENOMEM. */
int pace_init(struct pace *pace, struct event_base *base);
void pace_deinit(struct pace *pace);

/* Counts N bytes; there may be fewer left. */
void pace_spend(struct pace *pace, size_t n);

/* WAITER is called from the loop in the next turn that has bytes left for it. It may wait already.
 */
void pace_wait(struct pace *pace, struct waiter *waiter);
