/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes untrusted text safe to show: a log or a terminal displays it and obeys none of it. Pure. */

#include <stddef.h>

enum printable_lines {
    PRINTABLE_ESCAPED, /* one line; line breaks and tabs become \n, \r, \t */
    PRINTABLE_JOINED,  /* one line; line breaks and tabs become blanks */
    PRINTABLE_KEPT,    /* line feeds and tabs stay as they are */
};

/* Writes the N arbitrary bytes of TEXT as valid UTF-8 into OUT, a buffer of SIZE bytes, ends it
 * with a NUL and returns the length. Replaces ill-formed parts by U+FFFD. Escapes control
 * characters and those that change the direction of writing: \x1b, \u0085, \u202e. Cuts at a whole
 * character. */
size_t printable(const char *text, size_t n, enum printable_lines lines, char *out, size_t size);

/* Writes the first character of TEXT, which has N >= 1 bytes, in that form and ends it with a NUL.
 * Returns how many bytes of TEXT it took. */
#define PRINTABLE_CHARACTER_MAX 8
size_t printable_character(const char *text, size_t n, enum printable_lines lines,
                           char out[PRINTABLE_CHARACTER_MAX]);
