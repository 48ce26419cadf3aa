/* SPDX-License-Identifier: MIT */
#pragma once
/* Prints reals. */

#include <stddef.h>

/* A sign, 17 digits, a point, four zeros before them or an exponent of four characters behind. */
#define REAL_TEXT_MAX 32

/* Prints VALUE, which is finite, as jansson does with as few of 15, 16 or 17 digits as read back as
 * the same value, but in a third of the time. Returns the length; there is no NUL. */
size_t real_text(double value, char ret[REAL_TEXT_MAX]);
