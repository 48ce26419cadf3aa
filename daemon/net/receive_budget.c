/* SPDX-License-Identifier: MIT */
#include "receive_budget.h"

#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "proto/fair.h"
#include "proto/frame.h"
#include "proto/util.h"

#include <assert.h>

/* Whoever sends at all is never stalled, and can do so slowly. There is one guest for all: it has
 * this many times stall_ms for its frame if others wait. */
#define GUEST_STALLS 8

static void set_read_bound(const struct receive_share *share)
{
    bufferevent_setwatermark(share->bev, EV_READ, 0,
                             SMALL_FRAME_MAX + FRAME_HEADER_SIZE + share->bytes);
}

/* --- who has to go ------------------------------------------------------------------------- */

/* Whether the guest is still at its frame though its time is over. */
static bool guest_is_late(const struct receive_budget *budget, uint64_t now)
{
    const struct receive_share *guest = budget->guest;
    return guest && now - budget->guest_ns >= GUEST_STALLS * budget->stall_ms * NS_PER_MS;
}

/* Returns the one that has sent too little for the longest time; NULL if all send. */
static struct receive_share *find_stalled(const struct receive_budget *budget)
{
    uint64_t now = clock_now_ns();
    struct receive_share *share, *found = NULL;
    if (guest_is_late(budget, now))
        return budget->guest;
    TAILQ_FOREACH(share, &budget->holders, of_holders)
    {
        /* Of the guest, nothing is an excuse. */
        bool is_excused = share->is_paused && share != budget->guest;
        if (!share->is_waiting && !is_excused &&
            now - share->seen_ns >= budget->stall_ms * NS_PER_MS &&
            (!found || share->seen_ns < found->seen_ns))
            found = share;
    }
    return found;
}

/* Looks several times in the time that it takes to be stalled. */
static void look_later(const struct receive_budget *budget)
{
    start_timer(budget->timer, budget->stall_ms / 4 + 1);
}

static void on_timer(evutil_socket_t fd, short what, void *userdata)
{
    struct receive_budget *budget = userdata;
    (void)fd;
    (void)what;
    if (TAILQ_EMPTY(&budget->waiting))
        return;
    struct receive_share *stalled = find_stalled(budget);
    if (stalled)
        budget->lost(stalled);
    if (!TAILQ_EMPTY(&budget->waiting))
        look_later(budget);
}

/* --- the budget ---------------------------------------------------------------------------- */

int receive_budget_init(struct receive_budget *budget, struct event_base *base,
                        void (*lost)(struct receive_share *share))
{
    *budget = (struct receive_budget){.lost = lost};
    TAILQ_INIT(&budget->waiting);
    TAILQ_INIT(&budget->holders);
    budget->timer = event_new(base, -1, 0, on_timer, budget);
    return budget->timer ? 0 : -ENOMEM;
}

void receive_budget_deinit(struct receive_budget *budget)
{
    budget->timer = consume_event(budget->timer);
}

void receive_budget_bound(struct receive_budget *budget, size_t max, uint64_t stall_ms)
{
    budget->max = max;
    budget->stall_ms = stall_ms;
}

/* How much more USER may have. */
static size_t room_of(const struct receive_budget *budget, const struct user *user)
{
    size_t reserved = budget->reserved - budget->beyond;
    size_t received = user->received - user->beyond;
    size_t free = budget->max > reserved ? budget->max - reserved : 0;
    size_t most = free - free / (FAIR_PER_FREE + 1), has = received / (FAIR_PER_FREE + 1);
    return most > has ? most - has : 0;
}

static bool has_room(const struct receive_share *share, size_t step)
{
    return fair_may_have(share->bytes, step, room_of(share->budget, share->user));
}

/* --- the line ------------------------------------------------------------------------------ */

/* Returns who is to be the next guest: of those that wait, the oldest of the user who has least, so
 * that no number of connections keeps another user out. NULL: nobody may be it. */
static const struct receive_share *next_guest(const struct receive_budget *budget)
{
    const struct receive_share *share, *next = NULL;
    TAILQ_FOREACH(share, &budget->waiting, of_waiting)
    {
        if (share->user->beyond == 0 && (!next || share->user->received < next->user->received))
            next = share;
    }
    return next;
}

static bool may_be_guest(const struct receive_share *share)
{
    const struct receive_share *next = next_guest(share->budget);
    return !share->budget->guest && share->user->beyond == 0 &&
           (!next || next == share || share->user->received < next->user->received);
}

/* Lets SHARE ask again: from the event loop, not from inside another connection's callback. */
static void wake(const struct receive_share *share)
{
    bufferevent_trigger(share->bev, EV_READ, BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

/* Wakes those who may get more now. */
static void wake_waiting(const struct receive_budget *budget)
{
    const struct receive_share *share, *guest = budget->guest ? NULL : next_guest(budget);
    TAILQ_FOREACH(share, &budget->waiting, of_waiting)
    {
        if (share == guest || has_room(share, SMALL_FRAME_MAX))
            wake(share);
    }
}

/* Wakes the share that is to be the next guest, if there is no guest. A share that was woken for
 * that may find room instead: it goes on without being the guest, and wakes no other share. */
static void offer_guest(const struct receive_budget *budget)
{
    const struct receive_share *next = budget->guest ? NULL : next_guest(budget);
    if (next)
        wake(next);
}

/* The one function that moves SHARE into and out of the line. */
static void set_waiting(struct receive_share *share, bool waiting)
{
    struct receive_budget *budget = share->budget;
    if (share->is_waiting == waiting)
        return;
    share->is_waiting = waiting;
    if (waiting) {
        TAILQ_INSERT_TAIL(&budget->waiting, share, of_waiting);
        if (!event_pending(budget->timer, EV_TIMEOUT, NULL))
            look_later(budget);
    } else {
        TAILQ_REMOVE(&budget->waiting, share, of_waiting);
    }
}

/* --- a share ------------------------------------------------------------------------------- */

void receive_share_init(struct receive_share *share, struct receive_budget *budget,
                        struct user *user, struct bufferevent *bev)
{
    *share = (struct receive_share){.budget = budget, .user = user, .bev = bev};
    set_read_bound(share);
}

/* The one function that changes how much SHARE has. */
static void set_bytes(struct receive_share *share, size_t bytes)
{
    struct receive_budget *budget = share->budget;
    assert(budget->reserved >= share->bytes && share->user->received >= share->bytes);
    budget->reserved = budget->reserved - share->bytes + bytes;
    share->user->received = share->user->received - share->bytes + bytes;
    if (share->is_beyond) {
        budget->beyond = budget->beyond - share->bytes + bytes;
        share->user->beyond = share->user->beyond - share->bytes + bytes;
    }
    if (share->bytes == 0 && bytes > 0)
        TAILQ_INSERT_TAIL(&budget->holders, share, of_holders);
    else if (share->bytes > 0 && bytes == 0)
        TAILQ_REMOVE(&budget->holders, share, of_holders);
    share->bytes = bytes;
    set_read_bound(share);
}

/* Makes SHARE the guest. The budget does not count what it has from now on. */
static void become_guest(struct receive_share *share)
{
    struct receive_budget *budget = share->budget;
    assert(!budget->guest && !share->is_beyond);
    budget->guest = share;
    budget->guest_ns = clock_now_ns();
    share->is_beyond = true;
    budget->beyond += share->bytes;
    share->user->beyond += share->bytes;
}

void receive_share_move(struct receive_share *share, struct user *user)
{
    struct user *before = share->user;
    size_t beyond = share->is_beyond ? share->bytes : 0;
    assert(before->received >= share->bytes && before->beyond >= beyond);
    before->received -= share->bytes;
    before->beyond -= beyond;
    user->received += share->bytes;
    user->beyond += beyond;
    share->user = user;
    wake_waiting(share->budget); /* others of the user before may have room now */
}

static void see(struct receive_share *share, size_t arrived)
{
    share->seen = arrived;
    share->seen_ns = clock_now_ns();
}

bool receive_share_take(struct receive_share *share, size_t size, size_t arrived)
{
    struct receive_budget *budget = share->budget;
    size_t bound = SMALL_FRAME_MAX + FRAME_HEADER_SIZE + share->bytes;
    if (arrived >= share->seen + SMALL_FRAME_MAX)
        see(share, arrived);
    if (size <= bound || arrived < bound)
        return true;
    size_t step = MIN(size - bound, MAX(share->bytes, SMALL_FRAME_MAX));
    if (!has_room(share, step)) {
        if (!may_be_guest(share)) {
            set_waiting(share, true);
            offer_guest(budget);
            return false;
        }
        become_guest(share);
        step = size - bound;
    }
    set_bytes(share, share->bytes + step);
    set_waiting(share, false);
    offer_guest(budget);
    see(share, arrived);
    return true;
}

void receive_share_pause(struct receive_share *share, bool paused, bool is_whole)
{
    struct receive_budget *budget = share->budget;
    bool was_waiting = share->is_waiting, makes_way = is_whole && budget->guest == share;
    share->is_paused = paused;
    if (!paused) {
        share->seen_ns = clock_now_ns();
        return;
    }
    set_waiting(share, false);
    if (makes_way)
        budget->guest = NULL;
    if (was_waiting || makes_way)
        wake_waiting(budget); /* it was the guest, or may have been about to become it */
}

void receive_share_give_back(struct receive_share *share)
{
    bool was_waiting = share->is_waiting;
    set_waiting(share, false);
    share->seen = 0;
    if (!was_waiting && share->bytes == 0)
        return;
    if (share->budget->guest == share)
        share->budget->guest = NULL;
    set_bytes(share, 0);
    share->is_beyond = false;
    wake_waiting(share->budget);
}
