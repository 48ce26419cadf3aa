/* SPDX-License-Identifier: MIT */
#pragma once
/* What strangers wrote, as text that a log or a terminal shows and never obeys. Pure. */

#include <stddef.h>

enum printable_lines {
    PRINTABLE_ESCAPED, /* line breaks and tabs as \n, \r, \t: it is one line and shows them */
    PRINTABLE_JOINED,  /* as a blank: it is one line that is read as such */
    PRINTABLE_KEPT,    /* line feeds and tabs stay */
};

/* Writes the N arbitrary bytes of TEXT as valid UTF-8 into OUT, which has room for SIZE bytes with
 * the NUL at the end, and returns the length. Ill-formed parts become U+FFFD; control characters
 * and those that turn the direction of writing \x1b, \u0085, \u202e. What does not fit is cut off
 * at a whole character. */
size_t printable(const char *text, size_t n, enum printable_lines lines, char *out, size_t size);

/* One character of TEXT, N >= 1 bytes, in that form, NUL-terminated. Returns how many bytes of TEXT
 * it was. */
#define PRINTABLE_CHARACTER_MAX 8
size_t printable_character(const char *text, size_t n, enum printable_lines lines,
                           char out[PRINTABLE_CHARACTER_MAX]);
