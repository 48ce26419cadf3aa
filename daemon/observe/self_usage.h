/* SPDX-License-Identifier: MIT */
#pragma once
/* Measures what the daemon itself uses: memory, CPU time, descriptors. */

#include <stdint.h>

struct self_usage {
    uint64_t rss_bytes, max_rss_bytes;
    uint64_t cpu_ns; /* without children */
    unsigned open_fds, max_fds;
};

/* Values that the kernel does not provide are 0. */
void self_usage_measure(struct self_usage *ret);
