/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds the records of a data set in its text: the lines of JSON Lines, or the elements of one JSON
 * array. Does not look into them, so that a broken record does not spoil the others. Pure. */

#include "proto/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct records {
    const char *text; /* borrowed */
    size_t n;
    size_t at;
    uint64_t line; /* of the byte at `at`, from 1 */
    uint64_t found;
    bool is_array;
    bool over;
};

struct record {
    const char *text; /* borrowed, with white space around it */
    size_t n;
    uint64_t line; /* on which it begins */
};

void records_init(struct records *records, const char *text, size_t n);

/* Returns 1 and the next record, or 0 if there are no more. -EINVAL with FAULT, which begins with
 * the line, if it cannot find the end of a record; the next call then returns 0. */
int records_next(struct records *records, struct record *ret, struct fault *fault);
