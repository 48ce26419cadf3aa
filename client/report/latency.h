/* SPDX-License-Identifier: MIT */
#pragma once
/* The durations of results. Pure. */

#include "results.h"

/* Makes {wall_clock, queue}, each {n, mean, min, p50, ..., max, histogram}, or null if no line has
 * it. NULL when memory runs out. */
json_t *latency_json(const struct results *results);
