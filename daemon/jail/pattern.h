/* SPDX-License-Identifier: MIT */
#pragma once
/* Patterns of file names, as of fnmatch(3) without flags: `*` stands for any bytes, slashes among
 * them, `?` for one byte, [a-z] and [!a-z] (or [^a-z]) for one byte of a set or not of it. A
 * backslash makes the next character stand for itself, as does a bracket that none closes.
 *
 * A client chooses the pattern and a job the name. So matching takes no memory, and no more time
 * than the product of their lengths, which fnmatch() does not promise. */

#include <stdbool.h>
#include <stdint.h>

bool pattern_matches(const char *pattern, const char *name);

/* The same for a caller that may not spend that time. Takes the bytes of the pattern that are
 * compared, each as often as it is, and one for each step, from *BUDGET. If that is not enough,
 * *BUDGET is 0 and the answer true: the jail, which has matched them in full, is believed. */
bool pattern_matches_within(const char *pattern, const char *name, uint64_t *budget);

/* Whether the pattern is a name, which matches nothing but itself. */
bool pattern_is_name(const char *pattern);
