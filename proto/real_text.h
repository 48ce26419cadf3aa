/* SPDX-License-Identifier: MIT */
#pragma once
/* Prints reals. */

#include <stddef.h>

/* A sign, 17 digits, a point, and five more before them ("0.000") or behind ("e-308"); a NUL. */
#define REAL_TEXT_MAX 32

/* Prints VALUE, which is finite, as jansson does with as few of 15, 16 or 17 digits as read back as
 * the same value; jansson would print it once more. No program of ours changes the locale, whose
 * point this is. Returns the length; the text ends with no NUL. */
size_t real_text(double value, char ret[REAL_TEXT_MAX]);
