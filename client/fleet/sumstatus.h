/* SPDX-License-Identifier: MIT */
#pragma once
/* The status of a fleet in the form of a daemon's: what its daemons say, summed. Pure. */

#include <jansson.h>

/* Makes a status of STATUSES, an array of what each daemon has answered; the caller owns it. NULL
 * when memory runs out. Counts and rates are sums. What cannot be summed is that of the worst: a
 * quantile is that of the slowest daemon, a language is available if every daemon has it. The
 * slots are numbered anew; their jobs are as tell.h says. Sessions, clients and what a daemon says
 * of its own process are missing or zero: the caller fills them in. */
json_t *sumstatus_make(const json_t *statuses, int64_t uptime_ms);
