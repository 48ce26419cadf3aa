/* SPDX-License-Identifier: MIT */
#pragma once
/* What the service manager is told of the supervisor now and then, and at what moments. Part of the
 * supervisor. */

#include "state.h"

/* Brings STATUS= up to date and, while the daemon drains, asks for the time that it may take. Every
 * WATCH_INTERVAL_S, and where something of note has happened. */
void notify_tell(struct supervisor *supervisor);
#define WATCH_INTERVAL_S 2

/* For service_init(): whether the watchdog is to be fed. */
bool notify_is_healthy(void *userdata);
