/* SPDX-License-Identifier: MIT */
#pragma once
/* Bounds the bytes of large frames that are being received, over all connections, and divides them
 * between users and then between the connections of each.
 *
 * A share grows with what has arrived, not with what was announced: its frame may fill the buffer
 * up to a bound, which is raised step by step to at most twice what is there. A user may have three
 * times as much as is left for others, and a connection three times as much as is left for its
 * user, so that one who comes later always finds some. What gets no more waits in line, unread.
 *
 * If all frames waited for each other's memory, they would wait for ever. So one share at a time,
 * the guest, may receive its whole frame, even beyond the budget. The next guest is one of
 * those that wait, of the user who has received least. A guest whose frame is whole makes way for
 * the next, but keeps its memory until the frame is handled, which may take as long as the user's
 * jobs do. Until then that user gets no other guest: so at most one frame of each user is beyond
 * the budget. And while a share waits, those that send too little lose their shares, one after the
 * other, and so does a guest that takes long: `lost` is called for them.
 *
 * Invariants: `reserved` is the sum of all shares, and a user's `received` that of the user's
 * shares; `beyond` is, of both, what shares have that are or were the guest; a share is in
 * `waiting` exactly while is_waiting, and in `holders` exactly while it has bytes. The timer runs
 * while somebody waits. If somebody waits and there is no guest, the next one has been woken. */

#include "users.h"

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* What a connection may buffer without a share: frames up to this size need none. */
#define SMALL_FRAME_MAX (64u << 10)

TAILQ_HEAD(receive_line, receive_share);

struct receive_budget {
    size_t max;                  /* bytes */
    size_t reserved;             /* bytes */
    size_t beyond;               /* bytes of it that do not count for max */
    struct receive_line waiting; /* oldest first */
    struct receive_line holders;
    struct receive_share *guest; /* NULL: none */
    uint64_t guest_ns;           /* when it became that */
    uint64_t stall_ms;
    struct event *timer;
    /* SHARE has not got SMALL_FRAME_MAX bytes within stall_ms, or is the guest and takes long, and
     * others wait: end its frame. */
    void (*lost)(struct receive_share *share);
};

/* Embedded in a connection. All zero: not in use. */
struct receive_share {
    struct receive_budget *budget;
    struct user *user;       /* borrowed */
    struct bufferevent *bev; /* borrowed */
    size_t bytes;            /* beyond SMALL_FRAME_MAX; 0: no share */
    size_t seen;             /* bytes that had arrived at seen_ns */
    uint64_t seen_ns;
    bool is_waiting;
    bool is_beyond; /* it is or was the guest */
    bool is_paused; /* its connection is not read from */
    TAILQ_ENTRY(receive_share) of_waiting, of_holders;
};

/* 0 or -ENOMEM. */
int receive_budget_init(struct receive_budget *budget, struct event_base *base,
                        void (*lost)(struct receive_share *share));

/* Accepts a zeroed BUDGET. */
void receive_budget_deinit(struct receive_budget *budget);

/* Changes the bounds, at any time. Shares that exceed MAX stay. */
void receive_budget_bound(struct receive_budget *budget, size_t max, uint64_t stall_ms);

/* From now on BEV may buffer only what needs no share. BUDGET, USER and BEV outlive SHARE. */
void receive_share_init(struct receive_share *share, struct receive_budget *budget,
                        struct user *user, struct bufferevent *bev);

/* Lets more of a frame of SIZE bytes arrive, of which ARRIVED have. False: SHARE waits in line, and
 * BEV will be triggered to read from the event loop. */
bool receive_share_take(struct receive_share *share, size_t size, size_t arrived);

/* Gives SHARE, with what it has, to USER, who outlives it. */
void receive_share_move(struct receive_share *share, struct user *user);

/* Notes whether SHARE's connection is not read from, which leaves the line then, and whether that
 * is for a frame that has arrived. */
void receive_share_pause(struct receive_share *share, bool paused, bool is_whole);

/* Leaves the line and gives the bytes back. */
void receive_share_give_back(struct receive_share *share);
