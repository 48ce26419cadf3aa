/* SPDX-License-Identifier: MIT */
#include "pace.h"

#include "proto/util.h"

#include <errno.h>

/* A timer of no time: event_active() would call it before the loop looks at connections again. */
static void plan_turn(struct pace *pace)
{
    static const struct timeval at_once = {0};
    if (!event_pending(pace->turn, EV_TIMEOUT, NULL))
        (void)event_add(pace->turn, &at_once);
}

static void on_turn(_unused_ evutil_socket_t fd, _unused_ short events, void *userdata)
{
    struct pace *pace = userdata;
    size_t n = waiters_count(&pace->waiters);
    pace->left = PACE_TURN;
    while (n-- > 0 && pace->left > 0)
        waiters_call_first(&pace->waiters);
    if (!TAILQ_EMPTY(&pace->waiters))
        plan_turn(pace);
}

int pace_init(struct pace *pace, struct event_base *base)
{
    TAILQ_INIT(&pace->waiters);
    pace->left = PACE_TURN;
    pace->turn = evtimer_new(base, on_turn, pace);
    return pace->turn ? 0 : -ENOMEM;
}

void pace_deinit(struct pace *pace)
{
    if (pace->turn)
        event_free(pace->turn);
}

void pace_spend(struct pace *pace, size_t n)
{
    pace->left -= MIN(n, pace->left);
    plan_turn(pace);
}

void pace_wait(struct pace *pace, struct waiter *waiter)
{
    waiter_wait(waiter, &pace->waiters);
    plan_turn(pace);
}
