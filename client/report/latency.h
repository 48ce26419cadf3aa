/* SPDX-License-Identifier: MIT */
#pragma once
/* How long results took. Pure. */

#include "results.h"

/* {wall_clock, queue}, each {n, mean, min, p50, ..., max, histogram} or null where no line says it.
 * NULL when memory runs out. */
json_t *latency_json(const struct results *results);
