/* SPDX-License-Identifier: MIT */
#include "latency.h"

#include <assert.h>
#include <math.h>

/* Bins of the histogram end at 1, 2, 5, 10, ... ms. */
#define BINS_MAX 32

static int by_value(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Returns the smallest value that a share P of them does not exceed. */
static uint32_t quantile(const uint32_t *sorted, size_t n, double p)
{
    assert(n > 0);
    size_t rank = (size_t)ceil(p * (double)n);
    return sorted[MIN(MAX(rank, 1), n) - 1];
}

static json_t *bins_json(const uint32_t *sorted, size_t n)
{
    static const uint32_t steps[] = {1, 2, 5};
    json_t *bins = json_array();
    uint64_t scale = 1;
    size_t at = 0;
    for (size_t i = 0; at < n && i < BINS_MAX; i++) {
        uint64_t up_to = steps[i % 3] * scale;
        size_t from = at;
        while (at < n && sorted[at] <= up_to)
            at++;
        scale *= i % 3 == 2 ? 10 : 1;
        /* The histogram begins with the first bin that is not empty. */
        if (at > 0 &&
            json_array_append_new(bins, json_pack("{s:I,s:I}", "up_to_ms", (json_int_t)up_to,
                                                  "count", (json_int_t)(at - from))) < 0)
            return json_decref(bins), NULL;
    }
    return bins;
}

static json_t *quantiles_json(uint32_t *values, size_t n)
{
    double sum = 0;
    if (n == 0)
        return json_null();
    qsort(values, n, sizeof(*values), by_value);
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return json_pack(
        "{s:I,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "n", (json_int_t)n, "mean", sum / (double)n, "min",
        (json_int_t)values[0], "p50", (json_int_t)quantile(values, n, 0.5), "p90",
        (json_int_t)quantile(values, n, 0.9), "p95", (json_int_t)quantile(values, n, 0.95), "p99",
        (json_int_t)quantile(values, n, 0.99), "max", (json_int_t)values[n - 1], "histogram",
        bins_json(values, n));
}

json_t *latency_json(const struct results *results)
{
    _cleanup_free_ uint32_t *walls = calloc(results->n + 1, sizeof(*walls));
    _cleanup_free_ uint32_t *queues = calloc(results->n + 1, sizeof(*queues));
    size_t n_walls = 0, n_queues = 0;
    if (!walls || !queues)
        return NULL;
    for (size_t i = 0; i < results->n; i++) {
        walls[n_walls] = results->items[i].wall_ms;
        n_walls += walls[n_walls] != LINE_MS_UNKNOWN;
        queues[n_queues] = results->items[i].queue_ms;
        n_queues += queues[n_queues] != LINE_MS_UNKNOWN;
    }
    return json_pack("{s:o,s:o}", "wall_clock", quantiles_json(walls, n_walls), "queue",
                     quantiles_json(queues, n_queues));
}
