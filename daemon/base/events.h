/* SPDX-License-Identifier: MIT */
#pragma once
/* Helpers for libevent. */

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

/* Frees EVENT, which may be NULL, and returns NULL to be assigned back. */
static inline struct event *consume_event(struct event *event)
{
    if (event)
        event_free(event);
    return NULL;
}

/* Adds EVENT, to become active in MS milliseconds. */
static inline void start_timer(struct event *event, uint64_t ms)
{
    struct timeval delay = {.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
    (void)event_add(event, &delay);
}

/* Makes and adds an event that calls CALLBACK whenever FD is readable, until it is freed. Returns
 * NULL if memory runs out. */
static inline struct event *watch_fd(struct event_base *base, int fd, event_callback_fn callback,
                                     void *userdata)
{
    struct event *event = event_new(base, fd, EV_READ | EV_PERSIST, callback, userdata);
    return event && event_add(event, NULL) < 0 ? consume_event(event) : event;
}
