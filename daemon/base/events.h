/* SPDX-License-Identifier: MIT */
#pragma once
/* Helpers for libevent. */

#include <event2/event.h>
#include <stddef.h>

/* Frees EVENT, which may be NULL, and returns NULL to be assigned back. */
static inline struct event *consume_event(struct event *event)
{
    if (event)
        event_free(event);
    return NULL;
}

/* Makes and adds an event that calls CALLBACK whenever FD is readable, until it is freed. Returns
 * NULL if memory runs out. */
static inline struct event *watch_fd(struct event_base *base, int fd, event_callback_fn callback,
                                     void *userdata)
{
    struct event *event = event_new(base, fd, EV_READ | EV_PERSIST, callback, userdata);
    return event && event_add(event, NULL) < 0 ? consume_event(event) : event;
}
