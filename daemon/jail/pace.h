/* SPDX-License-Identifier: MIT */
#pragma once
/* How often the jail looks at what runs in it. A look that takes long is followed by a longer wait.
 *
 * The wait goes by the CPU time of the look. On a busy host the jail may wait for a CPU while it
 * looks, and the job must not go unseen for that. A look may also wait for a lock that the job
 * holds. So the jail waits at least as long as it looked, and attends to its supervisor meanwhile.
 */

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <stdint.h>

/* Looks take at most this part of a CPU, unless they take so long that the jail would not look for
 * longer than this: a job that makes looks take long must not go unseen. */
#define PACE_SHARE 20
#define PACE_MOST_MS UINT64_C(250)

struct pace {
    uint64_t began_ns, began_cpu_ns; /* when the look began */
};

static inline struct pace pace_begin(void)
{
    return (struct pace){.began_ns = clock_now_ns(), .began_cpu_ns = clock_cpu_ns()};
}

/* The look is over: returns after how many milliseconds to look again, at least LEAST_MS and
 * otherwise at most PACE_MOST_MS. */
static inline int pace_next_ms(const struct pace *pace, uint64_t least_ms)
{
    uint64_t cpu_ms = (clock_cpu_ns() - pace->began_cpu_ns) / NS_PER_MS;
    uint64_t took_ms = (clock_now_ns() - pace->began_ns) / NS_PER_MS;
    return (int)MAX(least_ms, MIN(MAX(cpu_ms * PACE_SHARE, took_ms), PACE_MOST_MS));
}
