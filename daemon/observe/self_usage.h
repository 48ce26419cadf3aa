/* SPDX-License-Identifier: MIT */
#pragma once
/* What the daemon itself uses. */

#include <stdint.h>

struct self_usage {
    uint64_t rss_bytes, max_rss_bytes;
    uint64_t cpu_ns; /* without children */
    unsigned open_fds, max_fds;
};

/* What the kernel does not tell is 0. */
void self_usage_measure(struct self_usage *ret);
