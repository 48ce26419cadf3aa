/* SPDX-License-Identifier: MIT */
#pragma once
/* Frames on their way to a client. */

#include "proto/bytes.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdbool.h>

/* Adds a frame of PAYLOAD, which is taken, to BUFFER. 0 or -ENOMEM: a part of it may be there. */
int outgoing_add(struct evbuffer *buffer, struct bytes *payload);

/* Moves the bytes of FROM to the end of what TO has to send. Few are copied, so that a reply that
 * waits takes about as much memory as it has bytes. 0 or -1. */
int outgoing_move(struct bufferevent *to, struct evbuffer *from);

/* Whether the client at the other end of FD takes nothing any more. */
bool outgoing_is_gone(int fd);

/* What is unsent when a connection closes. Its client is to take that in steps: it has time for
 * each, but cannot keep the memory for long by taking a few bytes now and then. */
struct last_replies {
    size_t step;
    size_t next; /* the step is taken when no more than this is left */
};

/* Steps there are at most, and how small they are at least. */
#define LAST_REPLIES_STEPS 16
#define LAST_REPLIES_STEP_MIN ((size_t)64 << 10)

void last_replies_begin(struct last_replies *last, size_t unsent);

/* Whether the client has taken another step, with UNSENT left. */
bool last_replies_go_on(struct last_replies *last, size_t unsent);

/* Bytes of replies that all connections together may leave unsent, as a multiple of what one may
 * (its high-water mark), and at least. A few more are never too many for one. */
#define OUTGOING_PER_HIGH_WATER 4
#define OUTGOING_MAX ((size_t)64 << 20)
#define OUTGOING_FREE ((size_t)64 << 10)

/* Counts in *TOTAL, and in *OF_USER, that one has NOW bytes unsent, of which *OWN keeps account. */
void outgoing_count(size_t *total, size_t *of_user, size_t *own, size_t now);

/* Returns how much all may leave unsent if one may leave HIGH_WATER. */
size_t outgoing_most(size_t high_water);

/* Returns how much one with HIGH_WATER may leave unsent while OTHERS have so much unsent: the less
 * is left of what all may, the less. */
size_t outgoing_mark(size_t high_water, size_t others);
