/* SPDX-License-Identifier: MIT */
#pragma once
/* The metrics of a fleet: those of its daemons, summed. Pure. */

#include "proto/bytes.h"

#include <jansson.h>

/* Sums TEXTS, an array of OpenMetrics texts as daemons write them, into one. Counters, histograms
 * and gauges are added. Of infos and states, of durations and of generations the greatest counts;
 * of times of start, of uptimes and of whether a daemon is healthy, the least. MORE (may be NULL)
 * is text that comes before the end. 0 or -ENOMEM. */
int summetrics_make(const json_t *texts, const char *more, struct bytes *ret);
