/* SPDX-License-Identifier: MIT */
#pragma once
/* Whether an answer counts, or its job is worth another attempt. Pure. */

#include "client/connection/message.h"

/* Whether ERROR may be gone when the same job is submitted again. With ALL, errors are retried that
 * the daemon does not call retriable; what somebody has cancelled never is, and a daemon that
 * drains is waited for instead. */
bool attempt_is_retriable(const struct message *error, bool all);

/* Milliseconds from the N'th failed attempt (from 1) to the next one. */
int64_t attempt_delay_ms(size_t n);

/* Whether RESULT is a timeout of a job that for half of the time or more could have run and had no
 * CPU. */
bool attempt_is_starved(const struct message *result);
