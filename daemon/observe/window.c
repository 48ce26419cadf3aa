/* SPDX-License-Identifier: MIT */
#include "window.h"

#include "proto/util.h"

#include <math.h>
#include <string.h>

const double window_quantiles[WINDOW_QUANTILES] = {0.5, 0.9, 0.99};

#define SUB_BUCKETS (UINT64_C(1) << WINDOW_SUB_BITS)

/* The highest bit of a value selects the doubling, the WINDOW_SUB_BITS bits below it the bucket in
 * that. Each value below SUB_BUCKETS has a bucket of its own. */
static size_t bucket_of(uint64_t value_us)
{
    value_us = MIN(value_us, (UINT64_C(1) << WINDOW_VALUE_BITS) - 1);
    if (value_us < SUB_BUCKETS)
        return value_us;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value_us) - WINDOW_SUB_BITS;
    return (size_t)(shift * SUB_BUCKETS + (value_us >> shift));
}

static uint64_t middle_of_ns(size_t bucket)
{
    uint64_t doubling = bucket / SUB_BUCKETS;
    unsigned shift = (unsigned)(doubling > 0 ? doubling - 1 : 0);
    uint64_t lower_us = (bucket - shift * SUB_BUCKETS) << shift;
    return lower_us * 1000 + (UINT64_C(1000) << shift) / 2;
}

static uint64_t slice_number(const struct window *window, uint64_t now_ns)
{
    uint64_t since_ns = now_ns > window->started_ns ? now_ns - window->started_ns : 0;
    return MAX(since_ns / WINDOW_SLICE_NS, window->newest);
}

static struct window_slice *current_slice(struct window *window, uint64_t now_ns)
{
    uint64_t number = slice_number(window, now_ns);
    struct window_slice *slice = &window->slices[number % WINDOW_SLICES];
    if (slice->number != number) {
        memset(slice, 0, sizeof(*slice));
        slice->number = number;
    }
    window->newest = number;
    return slice;
}

void window_init(struct window *window, uint64_t now_ns)
{
    window->started_ns = now_ns;
}

void window_count(struct window *window, enum window_end end, uint64_t now_ns)
{
    current_slice(window, now_ns)->ends[end]++;
}

void window_observe(struct window *window, enum window_latency latency, uint64_t value_ns,
                    uint64_t now_ns)
{
    current_slice(window, now_ns)->latencies[latency][bucket_of(value_ns / 1000)]++;
}

struct sums {
    uint64_t of[WINDOW_LATENCIES][WINDOW_BUCKETS];
};

static void add_slice(const struct window_slice *slice, struct sums *sums,
                      struct window_summary *summary)
{
    for (size_t i = 0; i < WINDOW_ENDS; i++)
        summary->ends[i] += slice->ends[i];
    for (size_t i = 0; i < WINDOW_LATENCIES; i++)
        for (size_t k = 0; k < WINDOW_BUCKETS; k++) {
            sums->of[i][k] += slice->latencies[i][k];
            summary->latencies[i].count += slice->latencies[i][k];
        }
}

/* The value that at least QUANTILE of all COUNT values do not exceed. */
static uint64_t nearest_rank_ns(const uint64_t *buckets, uint64_t count, double quantile)
{
    uint64_t rank = MAX((uint64_t)ceil(quantile * (double)count), UINT64_C(1)), seen = 0;
    for (size_t i = 0; i < WINDOW_BUCKETS; i++) {
        seen += buckets[i];
        if (seen >= rank)
            return middle_of_ns(i);
    }
    return 0;
}

void window_summarise(const struct window *window, uint64_t window_ns, uint64_t now_ns,
                      struct window_summary *ret)
{
    struct sums sums = {.of = {{0}}};
    struct window_summary summary = {.span_ns = 0};
    uint64_t last = slice_number(window, now_ns), length = window_ns / WINDOW_SLICE_NS;
    uint64_t first = last > length ? last - length : 0;

    for (uint64_t number = first; number <= last; number++) {
        const struct window_slice *slice = &window->slices[number % WINDOW_SLICES];
        if (slice->number == number)
            add_slice(slice, &sums, &summary);
    }
    uint64_t until_ns = MAX(now_ns, window->started_ns + last * WINDOW_SLICE_NS);
    summary.span_ns = until_ns - (window->started_ns + first * WINDOW_SLICE_NS);
    for (size_t i = 0; i < WINDOW_LATENCIES; i++)
        for (size_t k = 0; k < WINDOW_QUANTILES; k++)
            summary.latencies[i].quantiles_ns[k] =
                nearest_rank_ns(sums.of[i], summary.latencies[i].count, window_quantiles[k]);
    *ret = summary;
}

double window_rate(uint64_t count, uint64_t span_ns)
{
    return (double)count / ((double)MAX(span_ns, NS_PER_S) / (double)NS_PER_S);
}
