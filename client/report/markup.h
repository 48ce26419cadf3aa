/* SPDX-License-Identifier: MIT */
#pragma once
/* Foreign text in XML. Pure. */

#include <stddef.h>
#include <stdio.h>

/* Writes N arbitrary bytes as text that XML cannot take for anything else, in an element or between
 * double quotes. & < > " ' become references; line breaks and tabs become \n, \r, \t; other control
 * characters, and those that change the direction of writing, become \x1b, \u202e; ill-formed UTF-8
 * and characters that XML does not allow become U+FFFD. */
void markup_put(FILE *out, const char *text, size_t n);

/* Likewise, but line feeds and tabs stay: for the text of an element. */
void markup_put_lines(FILE *out, const char *text, size_t n);
