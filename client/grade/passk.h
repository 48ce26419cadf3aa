/* SPDX-License-Identifier: MIT */
#pragma once
/* pass@k: the probability that at least one of k samples for a task is correct. Pure. */

#include "proto/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the unbiased estimate from n samples of which c <= n are correct, as the harness of
 * HumanEval computes it: 1 if n - c < k, else 1 - prod_{i=n-c+1..n} (1 - k/i). NAN if n < k: then
 * there is no estimate. k is at least 1. */
double pass_at_k(uint64_t n, uint64_t c, uint64_t k);

/* At most this many values of k in a list, and the largest value. */
#define PASSK_KS_MAX 32
#define PASSK_K_MAX 1000000

struct passk_ks {
    size_t n;
    uint64_t k[PASSK_KS_MAX];
    bool is_default; /* nobody asked for these */
};

/* Parses a list like "1,10,100", the default if TEXT is NULL. -EINVAL with FAULT. */
int passk_parse_ks(const char *text, struct passk_ks *ret, struct fault *fault);
