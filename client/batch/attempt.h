/* SPDX-License-Identifier: MIT */
#pragma once
/* Decides whether a job is worth another attempt. Pure. */

#include "client/connection/message.h"

/* Whether the same job may succeed after ERROR. With ALL that holds for errors that the daemon does
 * not call retriable, too. Never retries what somebody cancelled, nor at a daemon that drains: the
 * engine waits for the next daemon instead. */
bool attempt_is_retriable(const struct message *error, bool all);

/* Returns the milliseconds from the N'th failed attempt (from 1) to the next one. */
int64_t attempt_delay_ms(size_t n);

/* Whether ANSWER says that others had the CPUs that the job needed: the error `starved`, or a
 * timeout of a job that waited for a CPU half of its time or longer. If the daemon
 * had moved the deadline, the job has had its time, and its timeout does not count. */
bool attempt_is_starved(const struct message *answer);
