/* SPDX-License-Identifier: MIT */
#pragma once
/* Counts what happened lately: how jobs ended, and quantiles of their latencies, over windows of up
 * to fifteen minutes.
 *
 * A ring holds slices of ten seconds, each with counters and histograms. Each doubling of a value
 * has eight buckets. So memory is bounded, counting is O(1) and allocates nothing. A quantile is
 * the middle of its bucket: it is off by at most WINDOW_ERROR (1/16, or 6.25 %) of the true value
 * from 8 microseconds on, and by half a microsecond below. Values of WINDOW_VALUE_MAX_NS (19 hours)
 * and more count as just below it.
 *
 * A window consists of whole slices and the current one. It reaches back by its length and up to
 * ten seconds more, but never beyond the start; `span_ns` says how far. Slices are numbered from
 * the start; the number tells an outdated slice from a new one, so that no timer has to clear the
 * ring. Times are of one monotonic clock; if it steps back all the same, the window stands still
 * until the clock has caught up. Pure. */

#include "daemon/base/clock.h"

#include <stddef.h>
#include <stdint.h>

#define WINDOW_SLICE_NS (10 * NS_PER_S)
#define WINDOW_SPAN_MAX_NS (900 * NS_PER_S)
#define WINDOW_SLICES (WINDOW_SPAN_MAX_NS / WINDOW_SLICE_NS + 1)

#define WINDOW_SUB_BITS 3
#define WINDOW_VALUE_BITS 36 /* of a value in microseconds */
#define WINDOW_BUCKETS ((WINDOW_VALUE_BITS - WINDOW_SUB_BITS + 1) << WINDOW_SUB_BITS)
#define WINDOW_VALUE_MAX_NS ((UINT64_C(1) << WINDOW_VALUE_BITS) * 1000)
#define WINDOW_ERROR (1.0 / (2 << WINDOW_SUB_BITS))

enum window_end {
    WINDOW_PASSED,
    WINDOW_FAILED,
    WINDOW_ERRORS,
    WINDOW_ENDS,
};

enum window_latency {
    WINDOW_WALL_CLOCK,
    WINDOW_QUEUE_WAIT,
    WINDOW_LATENCIES,
};

struct window_slice {
    uint64_t number; /* from the start; if it is not the expected one, the slice is empty */
    uint32_t ends[WINDOW_ENDS];
    uint32_t latencies[WINDOW_LATENCIES][WINDOW_BUCKETS];
};

/* About 200 KiB: not for the stack. */
struct window {
    uint64_t started_ns;
    uint64_t newest; /* number of the newest slice that was written */
    struct window_slice slices[WINDOW_SLICES];
};

#define WINDOW_QUANTILES 3
extern const double window_quantiles[WINDOW_QUANTILES]; /* 0.5, 0.9, 0.99 */

struct window_summary {
    uint64_t span_ns;
    uint64_t ends[WINDOW_ENDS];
    struct {
        uint64_t count;
        uint64_t quantiles_ns[WINDOW_QUANTILES]; /* by nearest rank; 0 where the count is 0 */
    } latencies[WINDOW_LATENCIES];
};

/* WINDOW must be zeroed. */
void window_init(struct window *window, uint64_t now_ns);

void window_count(struct window *window, enum window_end end, uint64_t now_ns);

void window_observe(struct window *window, enum window_latency latency, uint64_t value_ns,
                    uint64_t now_ns);

/* Sums up the last WINDOW_NS, a multiple of WINDOW_SLICE_NS and at most WINDOW_SPAN_MAX_NS. */
void window_summarise(const struct window *window, uint64_t window_ns, uint64_t now_ns,
                      struct window_summary *ret);

/* COUNT per second over SPAN_NS. A span below a second counts as one: the first job in the first
 * millisecond of a daemon is not a thousand jobs a second. */
double window_rate(uint64_t count, uint64_t span_ns);
