/* SPDX-License-Identifier: MIT */
#pragma once
/* Latencies since the start, counted into fixed buckets, as OpenMetrics has histograms: what is
 * told never shrinks, so whoever reads it now and then can subtract. Pure, no allocation. */

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS 18

/* Upper bounds in milliseconds, ascending, each of them part of its bucket: from less than starting
 * a program takes to the longest wall clock of a rubric, and on to what a queue may take. */
extern const uint64_t histogram_bounds_ms[HISTOGRAM_BOUNDS];

struct histogram {
    uint64_t of[HISTOGRAM_BOUNDS + 1]; /* not cumulative; the last is above all bounds */
    uint64_t count, sum_ns;
};

void histogram_add(struct histogram *histogram, uint64_t value_ns);
