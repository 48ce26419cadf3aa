/* SPDX-License-Identifier: MIT */
#pragma once
/* What those who have connected to `fleet serve` ask for. */

#include "servejobs.h"

/* What callers of struct serve, their `arg`, call. */
extern const struct caller_ops serverequests_ops;

/* Serves a client that has connected on FD (taken), or refuses one too many. */
void serverequests_accept(struct serve *serve, int take_fd);

/* Says hello to those who have connected and wait for it; dismisses those who have waited for too
 * long, with the reason. To be called now and then. */
void serverequests_greet(struct serve *serve, int64_t now);
