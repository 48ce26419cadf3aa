/* SPDX-License-Identifier: MIT */
#include "receive_budget.h"

#include "proto/frame.h"

#include <assert.h>

static void set_read_bound(const struct receive_share *share, size_t bytes)
{
    bufferevent_setwatermark(share->bev, EV_READ, 0, bytes);
}

void receive_budget_init(struct receive_budget *budget, size_t max)
{
    *budget = (struct receive_budget){.max = max};
    TAILQ_INIT(&budget->waiting);
}

void receive_share_init(struct receive_share *share, struct receive_budget *budget,
                        struct bufferevent *bev)
{
    *share = (struct receive_share){.budget = budget, .bev = bev};
    set_read_bound(share, SMALL_FRAME_MAX + FRAME_HEADER_SIZE);
}

/* The first in line may fit now. It reads from the event loop, not from inside another connection's
 * callback. */
static void wake_first(const struct receive_budget *budget)
{
    struct receive_share *first = TAILQ_FIRST(&budget->waiting);
    if (first)
        bufferevent_trigger(first->bev, EV_READ,
                            BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

/* The one function that moves SHARE into and out of the line. */
static void set_waiting(struct receive_share *share, bool waiting)
{
    if (share->is_waiting == waiting)
        return;
    share->is_waiting = waiting;
    if (waiting) {
        assert(share->bytes == 0);
        TAILQ_INSERT_TAIL(&share->budget->waiting, share, link);
    } else {
        TAILQ_REMOVE(&share->budget->waiting, share, link);
        wake_first(share->budget);
    }
}

bool receive_share_take(struct receive_share *share, size_t size)
{
    struct receive_budget *budget = share->budget;
    if (size <= SMALL_FRAME_MAX || share->bytes > 0)
        return true;
    bool fits = budget->reserved == 0 || budget->reserved + size <= budget->max;
    if (fits && (TAILQ_EMPTY(&budget->waiting) || TAILQ_FIRST(&budget->waiting) == share)) {
        share->bytes = size;
        budget->reserved += size;
        set_read_bound(share, size);
        set_waiting(share, false);
        return true;
    }
    set_waiting(share, true);
    return false;
}

void receive_share_leave_line(struct receive_share *share)
{
    set_waiting(share, false);
}

void receive_share_give_back(struct receive_share *share)
{
    set_waiting(share, false);
    if (share->bytes == 0)
        return;
    assert(share->budget->reserved >= share->bytes);
    share->budget->reserved -= share->bytes;
    share->bytes = 0;
    set_read_bound(share, SMALL_FRAME_MAX + FRAME_HEADER_SIZE);
    wake_first(share->budget);
}
