/* SPDX-License-Identifier: MIT */
#pragma once
/* Bounds the bytes of large frames that are being received, over all connections. A connection that
 * gets no share of the budget waits in line, unread, and is woken when it is first and may fit.
 *
 * Invariants: `reserved` is the sum of all shares; a share is in `waiting` exactly while
 * is_waiting, and has no bytes then. */

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

/* Larger frames need a share before they are received. */
#define SMALL_FRAME_MAX (64u << 10)

struct receive_budget {
    size_t max;                          /* bytes */
    size_t reserved;                     /* bytes */
    TAILQ_HEAD(, receive_share) waiting; /* oldest first */
};

/* Embedded in a connection. All zero: not in use. */
struct receive_share {
    struct receive_budget *budget;
    struct bufferevent *bev; /* borrowed */
    size_t bytes;            /* 0: no share */
    bool is_waiting;
    TAILQ_ENTRY(receive_share) link;
};

void receive_budget_init(struct receive_budget *budget, size_t max);

/* Changes the bound, at any time. Shares that exceed it stay. */
static inline void receive_budget_set_max(struct receive_budget *budget, size_t max)
{
    budget->max = max;
}

/* Lets BEV buffer what needs no share, from now on. BUDGET and BEV outlive SHARE. */
void receive_share_init(struct receive_share *share, struct receive_budget *budget,
                        struct bufferevent *bev);

/* Takes bytes for a frame of SIZE bytes, if it needs a share. False: SHARE waits in line, and BEV
 * will be triggered to read from the event loop. A frame larger than the budget fits when no other
 * is received. */
bool receive_share_take(struct receive_share *share, size_t size);

/* Leaves the line. */
void receive_share_leave_line(struct receive_share *share);

/* Leaves the line and gives the bytes back. */
void receive_share_give_back(struct receive_share *share);
