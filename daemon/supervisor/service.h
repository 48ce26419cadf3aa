/* SPDX-License-Identifier: MIT */
#pragma once
/* What the service manager wants to know and may hand over (sd_notify, sd_listen_fds). Without one,
 * all of it does nothing. */

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

struct service {
    bool is_managed; /* somebody listens to what is told here */
    struct event *watchdog;
    bool (*is_healthy)(void *userdata);
    void *userdata;
    char status[SERVICE_STATUS_MAX]; /* as it was told last */
};

/* The sockets that the manager hands over, none or more, non-blocking; the caller owns them.
 * -EINVAL with FAULT naming one that is no listening Unix stream socket, or -E2BIG, and all of them
 * stay as they are. */
int service_sockets(struct service_sockets *ret, struct fault *fault);

/* Where a watchdog is set, asks IS_HEALTHY from the event loop, at half its period, and feeds it if
 * so. */
int service_init(struct service *service, struct event_base *base,
                 bool (*is_healthy)(void *userdata), void *userdata);

/* Ready, for the first time or once more. */
void service_ready(const struct service *service);

/* The configuration is being read again, which may take a while and is fed for; service_ready()
 * tells that it is over, well or not. */
void service_reloading(const struct service *service);

void service_stopping(const struct service *service);

/* Asks that nothing that the manager waits for is given up for MS from now on. */
void service_extend(const struct service *service, uint64_t ms);

/* STATUS= text, if it is another than before. */
void service_status(struct service *service, const char *text);

void service_deinit(struct service *service);
