/* SPDX-License-Identifier: MIT */
#include "waiter.h"

void waiter_wait(struct waiter *waiter, struct waiters *waiters)
{
    if (waiter->among)
        return;
    TAILQ_INSERT_TAIL(waiters, waiter, link);
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
