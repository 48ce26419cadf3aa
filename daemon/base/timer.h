/* SPDX-License-Identifier: MIT */
#pragma once
/* A timerfd that is often set anew and seldom goes off. Setting it to a later moment takes no
 * system call: it goes off at the earlier one and is set then. */

#include <event2/event.h>
#include <stdint.h>

struct timer {
    int fd; /* -1: none */
    struct event *event;
    uint64_t due_ns;   /* CLOCK_MONOTONIC; UINT64_MAX: never */
    uint64_t armed_ns; /* when the timerfd goes off, due_ns or earlier; UINT64_MAX: it does not */
    void (*callback)(void *userdata);
    void *userdata;
};

#define TIMER_NULL                                             \
    {                                                          \
        .fd = -1, .due_ns = UINT64_MAX, .armed_ns = UINT64_MAX \
    }

/* CALLBACK is called from BASE's loop each time that the timer is due. -errno. */
int timer_init(struct timer *timer, struct event_base *base, void (*callback)(void *userdata),
               void *userdata);

/* Once, TIMEOUT_MS from now; 0: never. */
void timer_set(struct timer *timer, uint64_t timeout_ms);

void timer_deinit(struct timer *timer);
