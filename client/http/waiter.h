/* SPDX-License-Identifier: MIT */
#pragma once
/* Whoever waits for what others have now, in the order in which they came. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

TAILQ_HEAD(waiters, waiter);

/* Embedded in what waits; zero at first. */
struct waiter {
    TAILQ_ENTRY(waiter) link;
    struct waiters *among;                /* NULL: it does not wait */
    void (*again)(struct waiter *waiter); /* it is worth another try */
};

/* WAITER waits behind the others. It may wait already, among the same. */
void waiter_wait(struct waiter *waiter, struct waiters *waiters);

/* The same, behind the waiter OTHER; NULL: before all others. */
void waiter_wait_behind(struct waiter *waiter, struct waiters *waiters, struct waiter *other);

void waiter_wait_no_more(struct waiter *waiter);

size_t waiters_count(const struct waiters *waiters);

/* Calls the first, if there is one; it no longer waits. */
void waiters_call_first(struct waiters *waiters);
