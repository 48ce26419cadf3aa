/* SPDX-License-Identifier: MIT */
#pragma once
/* Text for people: quantities with units, and foreign text that a terminal shows but never obeys.
 * The room is described in README.md.
 *
 * What writes to a stream returns no errors: the caller looks at the stream (ferror) in the end. */

#include "proto/util.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes for one quantity, including the NUL. */
#define TEXT_QUANTITY_MAX 32

/* Writes "350 ms", "1.2 s", "2 min 13 s", "4 h 05 min", "3 d 4 h". Returns OUT. */
const char *text_duration(int64_t ms, char out[TEXT_QUANTITY_MAX]);

/* Writes the same in at most 6 characters, for tables: "0.05ms", "350ms", "1.2s", "2m13s",
 * "4h05m", "3d04h". Returns OUT. */
const char *text_brief_duration(double ms, char out[TEXT_QUANTITY_MAX]);

/* Writes a number in at most 6 characters: "123456", "1.2M". Returns OUT. */
const char *text_brief_count(double count, char out[TEXT_QUANTITY_MAX]);

/* Writes "512 B", "12.3 KiB", "64.0 MiB". Returns OUT. */
const char *text_size(int64_t bytes, char out[TEXT_QUANTITY_MAX]);

/* Writes N bytes of UTF-8. Control characters appear as \n, \t, \x1b, \u0085, bytes that are not
 * UTF-8 as U+FFFD. */
void text_put(FILE *out, const char *text, size_t n);

/* Returns the columns of a terminal that text_put() of N bytes takes. */
size_t text_columns(const char *text, size_t n);

/* Writes TEXT (NULL: "?") as text_put() does, in at most COLUMNS; cuts a longer one and ends it in
 * "...". Returns the columns written. */
size_t text_put_fit(FILE *out, const char *text, size_t columns);

/* Writes TEXT as text_put_fit() does, then spaces up to COLUMNS. */
void text_put_cell(FILE *out, const char *text, size_t columns);

/* Writes TEXT, broken at its spaces into lines of at most COLUMNS, and a newline. The first line
 * begins at column FIRST, the others with INDENT spaces, which count. */
void text_put_wrapped(FILE *out, const char *text, size_t first, size_t indent, size_t columns);

/* Writes TEXT behind INDENT spaces in lines of at most COLUMNS, broken at its spaces, or, where a
 * word is longer, within it; and a newline. */
void text_put_block(FILE *out, const char *text, size_t indent, size_t columns);

/* Formats a text of at most 2047 bytes (longer ones are cut) and writes it as text_put_wrapped()
 * does; the first line begins at column INDENT, too. */
_printf_(4, 0) void text_vput_wrapped(FILE *out, size_t indent, size_t columns, const char *format,
                                      va_list args);

/* Returns where the last lines of TEXT begin: at most LINES of them, in at most BYTES. Blanks and
 * line feeds at the end of TEXT count for nothing: *RET_N is the length without them. A line of
 * which the beginning has no room is left out, unless it is the only one; that is cut at a
 * character. */
const char *text_tail(const char *text, size_t n, size_t lines, size_t bytes, size_t *ret_n);

/* Writes TEXT as text_put() does, in COLOUR, a parameter of SGR; NULL: none. */
void text_put_coloured(FILE *out, const char *colour, const char *text);

/* Has complain() begin with the name PROGRAM (borrowed) instead of "rubricctl". */
void complain_as(const char *program);

/* Writes "rubricctl: ", the message as text_put() does, and a newline to stderr, in one piece; and
 * nothing if there is no memory for that. */
_printf_(1, 2) void complain(const char *format, ...);

/* "" or "s". */
const char *text_plural(uint64_t n);

/* Returns CLOCK_MONOTONIC in milliseconds. */
int64_t monotonic_ms(void);
