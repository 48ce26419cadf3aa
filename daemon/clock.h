/* SPDX-License-Identifier: MIT */
#pragma once
/* The daemon's one clock: CLOCK_MONOTONIC in nanoseconds. What is told of the calendar is for
 * people. */

#include <stdint.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Since the epoch. */
static inline uint64_t clock_epoch_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
