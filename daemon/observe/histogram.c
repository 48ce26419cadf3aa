/* SPDX-License-Identifier: MIT */
#include "histogram.h"

#include "daemon/base/clock.h"

const uint64_t histogram_bounds_ms[HISTOGRAM_BOUNDS] = {
    1,    2,    5,    10,    20,    50,    100,    200,    500,
    1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000, 3600000};

void histogram_add(struct histogram *histogram, uint64_t value_ns)
{
    size_t i = 0;
    while (i < HISTOGRAM_BOUNDS && value_ns > histogram_bounds_ms[i] * NS_PER_MS)
        i++;
    histogram->of[i]++;
    histogram->count++;
    histogram->sum_ns += value_ns;
}
