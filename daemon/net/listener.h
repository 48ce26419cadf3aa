/* SPDX-License-Identifier: MIT */
#pragma once
/* The listening socket: bound here or handed over by systemd. */

#include "daemon/base/privileges.h"
#include "daemon/log/log.h"
#include "proto/fault.h"

#include <event2/event.h>
#include <stdbool.h>

struct listener {
    struct event *event, *resume;
    struct log *log;
    int fd;
    char *path; /* owned; NULL where the socket was handed over, and is not ours to remove */
    void (*accepted)(int fd, void *userdata); /* takes the descriptor */
    void *userdata;
};

#define LISTENER_NULL \
    {                 \
        .fd = -1      \
    }

/* Binds PATH with MODE and, unless GROUP is "", the group of that name; it and its directory, if
 * that is made, are given to OWNER (NULL: they stay this process's). A socket that nobody listens
 * on any more is replaced; one that somebody does is -EADDRINUSE. Missing parent directories are
 * not made, but for the last. FAULT says what went wrong. Returns the descriptor.
 */
int listener_bind(const char *path, unsigned mode, const char *group, const struct account *owner,
                  struct log *log, struct fault *fault);

/* Starts to accept on FD, which is taken. PATH (copied) is removed by listener_deinit(). */
int listener_init(struct listener *listener, struct event_base *base, struct log *log, int fd,
                  const char *path, void (*accepted)(int fd, void *userdata), void *userdata);

void listener_deinit(struct listener *listener);
