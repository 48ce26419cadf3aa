/* SPDX-License-Identifier: MIT */
#pragma once
/* Compares what a program wrote with what it should have written.
 *
 * Room daemon/compare: the rules by which the outputs of programs are judged, each as its origin
 * has it. It may include proto alone. Pure: no I/O, no logging, no clock, no locale.
 *
 * Invariants:
 *  - Outputs are bytes: a NUL is a character like any other. Bytes that are no UTF-8 are never
 *    blank and never a digit, and equal themselves alone.
 *  - The time that a rule takes grows with the length of the outputs and no faster. Only `apps`
 *    takes memory of its own; APPS_COPY_MAX and APPS_WORDS_MAX (apps.c) bound it.
 *  - What a number holds (exponents, digits) never decides how much work it makes. */

#include "proto/bytes.h"
#include "proto/fault.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of one excerpt in a difference. */
#define COMPARE_EXCERPT_MAX 240

enum compare_rule {
    COMPARE_EXACT,
    COMPARE_LINES,
    COMPARE_TOKENS,
    COMPARE_FLOAT,
    COMPARE_LIVECODEBENCH,
    COMPARE_APPS,
    COMPARE_CODECONTESTS,
};

/* A parsed rule. It owns nothing. */
struct compare {
    enum compare_rule rule;
    double absolute, relative; /* COMPARE_FLOAT */
};

/* The first place where the outputs differ. */
struct difference {
    bool differs;
    uint64_t line;              /* of what the program wrote, from 1; 0: not known */
    struct bytes got, expected; /* excerpts of it: valid UTF-8, at most COMPARE_EXCERPT_MAX bytes */
    const char *why;            /* in plain English; static */
};

#define DIFFERENCE_NULL                           \
    {                                             \
        .got = BYTES_NULL, .expected = BYTES_NULL \
    }

void difference_deinit(struct difference *difference);
#define _cleanup_difference_ _cleanup_(difference_deinit)

/* Reads a rule: "exact", "lines", "tokens", "float:1e-6,1e-9", "livecodebench", "apps" or
 * "codecontests". Returns 0, or -EINVAL with FAULT. */
int compare_parse(const char *text, struct compare *ret, struct fault *fault);

/* Compares whole outputs. Returns 0 with *ret, whose excerpts the caller frees, or -ENOMEM. */
int compare_outputs(const struct compare *compare, const struct bytes *got,
                    const struct bytes *expected, struct difference *ret);
