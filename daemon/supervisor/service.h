/* SPDX-License-Identifier: MIT */
#pragma once
/* Speaks the protocols of the service manager: sd_notify, sd_listen_fds, the watchdog. Without a
 * manager every function does nothing.
 *
 * Never waits for the manager, whose socket holds ten messages: what it has no room for is dropped
 * if it is repeated anyway, and tried again if not. */

#include "proto/fault.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#define SERVICE_SOCKETS_MAX 16
#define SERVICE_STATUS_MAX 256

struct service_sockets {
    int fd[SERVICE_SOCKETS_MAX]; /* listening */
    unsigned count;
};

/* Notifications that the manager must get and that it has no room for: RELOADING=1 and READY=1 of
 * two reloads. Those of older ones are dropped. */
#define SERVICE_OWED_MAX 4
#define SERVICE_OWED_SIZE 96

struct service {
    bool is_managed; /* a manager receives notifications */
    int notify_fd;
    struct event *watchdog;
    struct event *again;                            /* runs while something is owed */
    char owed[SERVICE_OWED_MAX][SERVICE_OWED_SIZE]; /* oldest first */
    unsigned owed_count;
    bool (*is_healthy)(void *userdata);
    void *userdata;
    char status[SERVICE_STATUS_MAX]; /* as sent last */
};

/* Finds the sockets that the manager passed, if any, and makes them non-blocking. The caller owns
 * them. -EINVAL with FAULT if one is not a listening Unix stream socket, -E2BIG if they are too
 * many; on failure all of them stay open. */
int service_sockets(struct service_sockets *ret, struct fault *fault);

/* If the manager has set a watchdog, calls IS_HEALTHY from the event loop twice in its period, and
 * feeds the watchdog when that returns true. 0 or -ENOMEM. */
int service_init(struct service *service, struct event_base *base,
                 bool (*is_healthy)(void *userdata), void *userdata);

/* Reports that the daemon is ready: after its start, and after each reload. */
void service_ready(struct service *service);

/* Reports that a reload has begun, and feeds the watchdog, because a reload may block for a while.
 * service_ready() ends it, done or refused. */
void service_reloading(struct service *service);

/* Reports that the daemon drains. */
void service_stopping(struct service *service);

/* Asks the manager to wait for at least MS from now on, whatever it waits for. */
void service_extend(struct service *service, uint64_t ms);

/* Sends TEXT as STATUS=, unless it was sent last. */
void service_status(struct service *service, const char *text);

void service_deinit(struct service *service);
