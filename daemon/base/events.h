/* SPDX-License-Identifier: MIT */
#pragma once
/* A small help with libevent. */

#include <event2/event.h>
#include <stddef.h>

/* Frees an event, if it is one, and returns NULL to be assigned back. */
static inline struct event *consume_event(struct event *event)
{
    if (event)
        event_free(event);
    return NULL;
}

/* Calls back whenever FD can be read, until the event is freed. NULL when memory runs out. */
static inline struct event *watch_fd(struct event_base *base, int fd, event_callback_fn callback,
                                     void *userdata)
{
    struct event *event = event_new(base, fd, EV_READ | EV_PERSIST, callback, userdata);
    return event && event_add(event, NULL) < 0 ? consume_event(event) : event;
}
