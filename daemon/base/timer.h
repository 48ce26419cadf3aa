/* SPDX-License-Identifier: MIT */
#pragma once
/* A timerfd that is set often and expires seldom. Setting it to a later time takes no system call:
 * it expires at the earlier time and is set again then. */

#include <event2/event.h>
#include <stdint.h>

struct timer {
    int fd; /* -1: none */
    struct event *event;
    uint64_t due_ns;   /* CLOCK_MONOTONIC; UINT64_MAX: never */
    uint64_t armed_ns; /* when the timerfd expires, due_ns or earlier; UINT64_MAX: never */
    void (*callback)(void *userdata);
    void *userdata;
};

#define TIMER_NULL                                             \
    {                                                          \
        .fd = -1, .due_ns = UINT64_MAX, .armed_ns = UINT64_MAX \
    }

/* Makes a timer that calls CALLBACK from BASE's loop each time it is due. 0 or a negative errno. */
int timer_init(struct timer *timer, struct event_base *base, void (*callback)(void *userdata),
               void *userdata);

/* Sets the timer to expire once, TIMEOUT_MS from now; 0: never. */
void timer_set(struct timer *timer, uint64_t timeout_ms);

void timer_deinit(struct timer *timer);
