/* SPDX-License-Identifier: MIT */
#pragma once
/* "Did you mean ...?" Pure. */

#include <stddef.h>

/* Only the first letters of longer words are compared. */
#define SUGGEST_WORD_MAX 32

/* Returns how many letters must be inserted, left out, replaced, or swapped with their neighbour to
 * turn A into B (optimal string alignment), from 0 to SUGGEST_WORD_MAX. */
size_t suggest_distance(const char *a, const char *b);

/* Returns the one of the N CANDIDATES that TYPED most likely stands for: the first that begins with
 * TYPED, otherwise the nearest of which at most a third of the letters (but at least one) are
 * wrong. NULL if none is near. */
const char *suggest(const char *typed, const char *const *candidates, size_t n);
