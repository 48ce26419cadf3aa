/* SPDX-License-Identifier: MIT */
#pragma once
/* Sets of sets of words or of numbers, and whether two of them are equal. Pure. */

#include "text.h"

struct sets;

#define SETS_NULL NULL

/* Frees the sets; accepts NULL and returns NULL. */
struct sets *sets_free(struct sets *sets);
void sets_free_pointer(struct sets **sets);
#define _cleanup_sets_ _cleanup_(sets_free_pointer)

/* Makes a set of the words of each line that LINES gives; a line without words becomes the empty
 * set if KEEP_EMPTY, and nothing otherwise. Returns 0; -E2BIG if there are more than MOST words and
 * lines; or -ENOMEM. */
int sets_new(struct lines lines, bool skip_empty_lines, bool keep_empty, size_t most,
             struct sets **ret);

/* Whether both hold the same sets. */
bool sets_equal(const struct sets *a, const struct sets *b);

/* Turns each word into a number as Python's round(float(word), 3) does. Returns false if one is
 * no number, or is nan, which equals nothing; the sets are of no use then. */
bool sets_round(struct sets *sets);
