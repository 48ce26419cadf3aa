/* SPDX-License-Identifier: MIT */
#include "waiter.h"

void waiter_wait(struct waiter *waiter, struct waiters *waiters)
{
    waiter_wait_behind(waiter, waiters, TAILQ_LAST(waiters, waiters));
}

void waiter_wait_behind(struct waiter *waiter, struct waiters *waiters, struct waiter *other)
{
    if (waiter->among)
        return;
    if (other)
        TAILQ_INSERT_AFTER(waiters, other, waiter, link);
    else
        TAILQ_INSERT_HEAD(waiters, waiter, link);
    waiter->among = waiters;
}

void waiter_wait_no_more(struct waiter *waiter)
{
    if (waiter->among)
        TAILQ_REMOVE(waiter->among, waiter, link);
    waiter->among = NULL;
}

size_t waiters_count(const struct waiters *waiters)
{
    const struct waiter *waiter;
    size_t n = 0;
    TAILQ_FOREACH(waiter, waiters, link)
    n++;
    return n;
}

void waiters_call_first(struct waiters *waiters)
{
    struct waiter *waiter = TAILQ_FIRST(waiters);
    if (!waiter)
        return;
    waiter_wait_no_more(waiter);
    waiter->again(waiter);
}
