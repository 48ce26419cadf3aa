/* SPDX-License-Identifier: MIT */
#pragma once
/* What has happened lately: how jobs ended, and quantiles of their latencies, over windows of up to
 * fifteen minutes.
 *
 * A ring of slices of ten seconds, each with counters and with histograms whose buckets grow with
 * the value: eight to each doubling. So memory is bounded, noting something is O(1) without any
 * allocation, and a quantile is that of the bucket's middle: off by at most RECENT_ERROR (1/16, or
 * 6.25 %) of the true value from 8 microseconds on, by half a microsecond below, where values stay
 * under RECENT_VALUE_MAX_NS (19 hours); those above count as that.
 *
 * A window is made of whole slices and the one that has begun: it reaches back by its length and up
 * to ten seconds more, and never beyond the start; `span_ns` is by how much. Slices are numbered
 * from the start, and one that is older than the ring is told from a new one by its number: nothing
 * has to happen while nothing happens. Times are those of one monotonic clock; should it step back
 * all the same, it stands still here until it has caught up. Pure. */

#include "daemon/base/clock.h"

#include <stddef.h>
#include <stdint.h>

#define RECENT_SLICE_NS (10 * NS_PER_S)
#define RECENT_WINDOW_MAX_NS (900 * NS_PER_S)
#define RECENT_SLICES (RECENT_WINDOW_MAX_NS / RECENT_SLICE_NS + 1)

#define RECENT_SUB_BITS 3
#define RECENT_VALUE_BITS 36 /* of a value in microseconds */
#define RECENT_BUCKETS ((RECENT_VALUE_BITS - RECENT_SUB_BITS + 1) << RECENT_SUB_BITS)
#define RECENT_VALUE_MAX_NS ((UINT64_C(1) << RECENT_VALUE_BITS) * 1000)
#define RECENT_ERROR (1.0 / (2 << RECENT_SUB_BITS))

enum recent_end {
    RECENT_PASSED,
    RECENT_FAILED,
    RECENT_ERRORS,
    RECENT_ENDS,
};

enum recent_latency {
    RECENT_WALL_CLOCK,
    RECENT_QUEUE_WAIT,
    RECENT_LATENCIES,
};

struct recent_slice {
    uint64_t number; /* counted from the start; another than expected: the slice is empty */
    uint32_t ends[RECENT_ENDS];
    uint32_t latencies[RECENT_LATENCIES][RECENT_BUCKETS];
};

/* About 200 KiB: not for the stack. */
struct recent {
    uint64_t started_ns;
    uint64_t newest; /* number of the newest slice that was written */
    struct recent_slice slices[RECENT_SLICES];
};

#define RECENT_QUANTILES 3
extern const double recent_quantiles[RECENT_QUANTILES]; /* 0.5, 0.9, 0.99 */

struct recent_summary {
    uint64_t span_ns;
    uint64_t ends[RECENT_ENDS];
    struct {
        uint64_t count;
        uint64_t quantiles_ns[RECENT_QUANTILES]; /* by nearest rank; 0 where the count is 0 */
    } latencies[RECENT_LATENCIES];
};

/* RECENT is zeroed, as calloc() gives it. */
void recent_init(struct recent *recent, uint64_t now_ns);

void recent_count(struct recent *recent, enum recent_end end, uint64_t now_ns);

void recent_observe(struct recent *recent, enum recent_latency latency, uint64_t value_ns,
                    uint64_t now_ns);

/* The last WINDOW_NS, a multiple of RECENT_SLICE_NS and at most RECENT_WINDOW_MAX_NS. */
void recent_summarise(const struct recent *recent, uint64_t window_ns, uint64_t now_ns,
                      struct recent_summary *ret);

/* COUNT per second over SPAN_NS, which counts as a second at least: the first job of a daemon that
 * is a millisecond old is no thousand jobs a second. */
double recent_rate(uint64_t count, uint64_t span_ns);
