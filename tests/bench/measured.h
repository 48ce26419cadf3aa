/* SPDX-License-Identifier: MIT */
#pragma once
/* Output of the loops in this directory: one JSON object on one line. */

#include "daemon/base/clock.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

static inline double measured_seconds(uint64_t since_ns)
{
    return (double)(clock_now_ns() - since_ns) / (double)NS_PER_S;
}

/* Prints `, "NAME": [VALUES]`. */
static inline void measured_print_list(const char *name, const uint64_t *values, size_t n)
{
    (void)printf(", \"%s\": [", name);
    for (size_t i = 0; i < n; i++)
        (void)printf("%s%" PRIu64, i > 0 ? ", " : "", values[i]);
    (void)printf("]");
}
