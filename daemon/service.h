/* SPDX-License-Identifier: MIT */
#pragma once
/* What the service manager wants to know and may hand over. Without one, all of it does nothing. */

#include <event2/event.h>

struct service {
    struct event *watchdog;
};

/* The listening socket that systemd hands over, -1 if there is none, a negative errno below -1 if
 * what it hands over cannot be used. */
int service_listen_fd(void);

/* Feeds the watchdog from the event loop, at half its period, where one is set. */
int service_init(struct service *service, struct event_base *base);

/* Ready, for the first time or once more. */
void service_ready(void);

/* The configuration is being read again; service_ready() tells that it is over, well or not. */
void service_reloading(void);
void service_stopping(void);

/* STATUS= text. */
void service_status(const char *text);

void service_deinit(struct service *service);
