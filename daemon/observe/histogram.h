/* SPDX-License-Identifier: MIT */
#pragma once
/* Counts latencies since the start in fixed buckets, as OpenMetrics defines histograms. Counts
 * never shrink, so a reader can subtract two of them. Pure, no allocation. */

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS 18

/* Upper bounds in milliseconds, ascending and inclusive. They range from less than the start of a
 * program to the longest wall clock of a rubric, and on to the longest waits in a queue. */
extern const uint64_t histogram_bounds_ms[HISTOGRAM_BOUNDS];

struct histogram {
    uint64_t
        of[HISTOGRAM_BOUNDS + 1]; /* not cumulative; the last counts what is above all bounds */
    uint64_t count, sum_ns;
};

void histogram_add(struct histogram *histogram, uint64_t value_ns);
