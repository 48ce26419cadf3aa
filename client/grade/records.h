/* SPDX-License-Identifier: MIT */
#pragma once
/* Where the records of a data set stand in its text: one a line (JSON Lines), or the elements of
 * one JSON array. What stands there is not looked at, so that one that is broken does not take the
 * others along. Pure. */

#include "proto/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct records {
    const char *text; /* borrowed */
    size_t n;
    size_t at;
    uint64_t line; /* of the byte at AT, from 1 */
    uint64_t found;
    bool is_array;
    bool over;
};

struct record {
    const char *text; /* borrowed, with white space around it */
    size_t n;
    uint64_t line; /* that it begins on */
};

void records_init(struct records *records, const char *text, size_t n);

/* 1: *ret is the next one. 0: there are no more. -EINVAL with FAULT, which begins with the line:
 * what follows cannot be told apart; the next call returns 0. */
int records_next(struct records *records, struct record *ret, struct fault *fault);
