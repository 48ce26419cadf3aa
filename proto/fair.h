/* SPDX-License-Identifier: MIT */
#pragma once
/* How much of what all share one may have: FAIR_PER_FREE times as much as is still free. So a lone
 * one gets three quarters of it, and there is always room for the next one. Pure. */

#include <stdbool.h>
#include <stdint.h>

#define FAIR_PER_FREE 3

/* Whether one that has HAS may have MORE of what is FREE: then it has at most FAIR_PER_FREE times
 * what is left (the quotient is rounded down). */
static inline bool fair_may_have(uint64_t has, uint64_t more, uint64_t free)
{
    return more <= free && (has + more) / FAIR_PER_FREE <= free - more;
}

/* The same of things that are counted: whether one that has HAS of them, fewer than FAIR_PER_FREE
 * times as many as are FREE, may have one more. */
static inline bool fair_may_have_one(uint64_t has, uint64_t free)
{
    return free > 0 && has / FAIR_PER_FREE < free;
}
