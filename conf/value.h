/* SPDX-License-Identifier: MIT */
#pragma once
/* Numbers as an operator writes them, and back. Pure.
 *
 * Every reader takes the whole text or nothing: no blanks, no sign, no exponent, nothing left
 * over. They return 0, or -EINVAL for what is not such a number, or -ERANGE for one that does not
 * fit; *ret is untouched on failure. Every writer picks the shortest exact form, which the reader
 * of the same name reads back to the same value. */

#include <stdint.h>

/* Room for what any writer writes, its NUL included. */
#define VALUE_TEXT_MAX 32

/* "1024" */
int value_read_count(const char *text, uint64_t *ret);
void value_write_count(uint64_t value, char text[VALUE_TEXT_MAX]);

/* "0660": octal digits, with or without the leading 0. */
int value_read_octal(const char *text, uint64_t *ret);
void value_write_octal(uint64_t value, char text[VALUE_TEXT_MAX]);

/* "65536", "64K", "64KiB", "1G": to bytes. K, M, G and T are powers of 1024. */
int value_read_size(const char *text, uint64_t *ret);
void value_write_size(uint64_t value, char text[VALUE_TEXT_MAX]);

/* "500ms", "30s", "1.5s", "5min" or "5m", "1h", "30" (seconds): to milliseconds. A fraction must
 * come out as a whole number of milliseconds. */
int value_read_duration(const char *text, uint64_t *ret);
void value_write_duration(uint64_t value, char text[VALUE_TEXT_MAX]);
