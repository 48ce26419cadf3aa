/* SPDX-License-Identifier: MIT */
#pragma once
/* Tells the service manager how the daemon is doing: STATUS=, the time that a stop may take, and
 * whether to feed the watchdog. service.c knows how to send these. */

#include "state.h"

/* Updates STATUS= and, while the daemon drains, extends the time that the manager gives it. To be
 * called every NOTIFY_INTERVAL_S, and after what the manager should know at once. */
void notify_tell(struct supervisor *supervisor);
#define NOTIFY_INTERVAL_S 2

/* Judges and logs the daemon's health: whether to feed the watchdog. For service_init(). */
bool notify_is_healthy(void *userdata);
