/* SPDX-License-Identifier: MIT */
#pragma once
/* The daemon's one clock: CLOCK_MONOTONIC in nanoseconds. Calendar time is shown to people and
 * decides nothing. A process can also tell how much CPU time it has taken. */

#include <stdint.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

static inline uint64_t clock_read_ns(clockid_t id)
{
    struct timespec time = {0};
    (void)clock_gettime(id, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

/* Calendar time in nanoseconds since the epoch. */
static inline uint64_t clock_epoch_ns(void)
{
    return clock_read_ns(CLOCK_REALTIME);
}

/* CPU time of this process. */
static inline uint64_t clock_cpu_ns(void)
{
    return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Bounds a time TOLD_NS that an untrusted process tells by what is known: not before
 * NOT_BEFORE_NS, and not after now. */
static inline uint64_t clock_plausible_ns(uint64_t told_ns, uint64_t not_before_ns)
{
    uint64_t no_earlier_ns = told_ns > not_before_ns ? told_ns : not_before_ns,
             now_ns = clock_now_ns();
    return no_earlier_ns < now_ns ? no_earlier_ns : now_ns;
}
