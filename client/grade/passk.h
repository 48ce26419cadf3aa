/* SPDX-License-Identifier: MIT */
#pragma once
/* pass@k: how probable it is that of k samples for a task at least one is correct. Pure. */

#include "proto/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The unbiased estimate from n samples of which c <= n are correct: 1 where n - c < k, else
 * 1 - prod_{i=n-c+1..n} (1 - k/i) (as the harness of HumanEval has it). NAN where n < k, for
 * nothing can be said. k is at least 1. */
double pass_at_k(uint64_t n, uint64_t c, uint64_t k);

/* Values of k in one list, and the largest of them. */
#define PASSK_KS_MAX 32
#define PASSK_K_MAX 1000000

struct passk_ks {
    size_t n;
    uint64_t k[PASSK_KS_MAX];
};

/* "1,10,100"; NULL: that. -EINVAL with FAULT. */
int passk_parse_ks(const char *text, struct passk_ks *ret, struct fault *fault);
