/* SPDX-License-Identifier: MIT */
#pragma once
/* A listening Unix socket, bound here or passed by systemd. */

#include "daemon/base/privileges.h"
#include "daemon/log/log.h"
#include "proto/fault.h"

#include <event2/event.h>
#include <stdbool.h>

/* How many clients are accepted in one turn of the event loop, and for how long. What else is ready
 * may take as long for each turn: a client that connects behind many others must not wait for as
 * many turns. */
#define LISTENER_ACCEPTS_MAX 64
#define LISTENER_BUDGET_MS 5

struct listener {
    struct event *event, *resume;
    struct log *log;
    int fd;
    char *path; /* owned; NULL: systemd passed the socket, which is not ours to unlink */
    void (*accepted)(int fd, void *userdata); /* takes the descriptor */
    void *userdata;
};

#define LISTENER_NULL \
    {                 \
        .fd = -1      \
    }

/* Binds PATH with MODE and, unless GROUP is "", the group of that name, and listens. Makes the
 * parent directory if it is missing, but none above it. Gives the socket and a directory that it
 * made to OWNER (NULL: they stay this process's). Replaces a socket that nobody listens on any
 * more; -EADDRINUSE if somebody does. Returns the descriptor, or a negative errno with FAULT. */
int listener_bind(const char *path, unsigned mode, const char *group, const struct account *owner,
                  struct log *log, struct fault *fault);

/* Starts to accept on FD (taken), which does not block. listener_deinit() unlinks PATH (copied)
 * unless it is NULL. */
int listener_init(struct listener *listener, struct event_base *base, struct log *log, int fd,
                  const char *path, void (*accepted)(int fd, void *userdata), void *userdata);

void listener_deinit(struct listener *listener);
