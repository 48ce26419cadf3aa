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
