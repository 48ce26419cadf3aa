/* SPDX-License-Identifier: MIT */
#include "pace.h"

#include "proto/util.h"

#include <errno.h>
#include <string.h>

/* The pause after something large, for each PACE_TURN of it, and the longest. What goes between
 * others and the daemon goes on in it: if the next large one came at once, a question to the daemon
 * would wait for one, and its answer for another. It takes far less time than reading does. */
#define REST_US ((size_t)500)
#define REST_MAX_US ((size_t)10000)

/* A timer of no time: event_active() would call it before the loop looks at connections again. */
static void plan_turn(struct pace *pace)
{
    static const struct timeval at_once = {0};
    if (!event_pending(pace->turn, EV_TIMEOUT, NULL))
        (void)event_add(pace->turn, &at_once);
}

static struct pace_waiter *waiter_of(struct waiter *waiter)
{
    return container_of(waiter, struct pace_waiter, waiter);
}

static void on_turn(_unused_ evutil_socket_t fd, _unused_ short events, void *userdata)
{
    struct pace *pace = userdata;
    size_t n = waiters_count(&pace->waiters);
    if (pace->rest_us > 0) {
        /* Only now: what was counted has been read since. */
        const struct timeval rest = {.tv_usec = (long)pace->rest_us};
        pace->rest_us = 0;
        (void)event_add(pace->turn, &rest);
        return;
    }
    pace->left = PACE_TURN;
    while (n-- > 0 && pace->left > 0 && !TAILQ_EMPTY(&pace->waiters)) {
        pace->round = waiter_of(TAILQ_FIRST(&pace->waiters))->round;
        waiters_call_first(&pace->waiters);
    }
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
    if (n > PACE_TURN)
        pace->rest_us = MIN(n / PACE_TURN * REST_US, REST_MAX_US);
    plan_turn(pace);
}

bool pace_take(struct pace *pace, struct pace_waiter *waiter, size_t n)
{
    if (pace->left == 0) {
        pace_wait(pace, waiter);
        return false;
    }
    pace_spend(pace, n + PACE_LINE);
    return true;
}

void pace_wait(struct pace *pace, struct pace_waiter *waiter)
{
    struct waiter *other;
    if (waiter->waiter.among)
        return;
    waiter->round = pace->round + 1;
    TAILQ_FOREACH_REVERSE(other, &pace->waiters, waiters, link)
    {
        if (strcmp(waiter_of(other)->share, waiter->share) == 0) {
            waiter->round = waiter_of(other)->round + 1;
            break;
        }
    }
    TAILQ_FOREACH_REVERSE(other, &pace->waiters, waiters, link)
    {
        if (waiter_of(other)->round <= waiter->round)
            break;
    }
    waiter_wait_behind(&waiter->waiter, &pace->waiters, other);
    plan_turn(pace);
}
