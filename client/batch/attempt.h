/* SPDX-License-Identifier: MIT */
#pragma once
/* Decides whether a job is worth another attempt. Pure. */

#include "client/connection/message.h"

/* Returns whether to run the job of ERROR again: if the daemon calls the error retriable and, with
 * ALL, after other errors as well. Never after somebody cancelled the job. Not at a daemon that
 * drains either, because the engine waits for the next daemon. */
bool attempt_is_retriable(const struct message *error, bool all);

/* Returns the milliseconds from the N'th failed attempt (from 1) to the next one. */
int64_t attempt_delay_ms(size_t n);

/* Returns whether ANSWER says that others had the CPUs that the job needed: it is the error
 * `starved`, or a timeout of a job that waited for a CPU for half of its time or longer. A timeout
 * at a deadline that the daemon had moved does not count, because that job has had its time. */
bool attempt_is_starved(const struct message *answer);
