/* SPDX-License-Identifier: MIT */
#pragma once
/* What `fleet serve` looks after now and then: jobs that wait for too long, or that the queue may
 * have lost, and whether there is a queue and a worker at all. */

#include "servejobs.h"

/* To be called a few times a second. */
void servewatch_tick(struct serve *serve, int64_t now);

/* Answers the jobs that have not started with `draining`, or all of them. */
void servewatch_drain(struct serve *serve, bool started_too);
