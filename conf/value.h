/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads and writes numbers the way operators write them. Pure.
 *
 * A reader accepts the whole text or nothing: no spaces, no sign, no exponent, nothing behind the
 * number. It returns 0; -EINVAL if the text is no such number; -ERANGE if the number does not fit.
 * *ret is untouched on failure. A writer picks the shortest exact form, which the reader of the
 * same name reads back to the same value. */

#include <stdint.h>

/* Room for the text of any writer, including its NUL. */
#define VALUE_TEXT_MAX 32

/* "1024" */
int value_read_count(const char *text, uint64_t *ret);
void value_write_count(uint64_t value, char text[VALUE_TEXT_MAX]);

/* "0660": octal digits, with or without the leading 0. */
int value_read_octal(const char *text, uint64_t *ret);
void value_write_octal(uint64_t value, char text[VALUE_TEXT_MAX]);

/* "65536", "64K", "64KiB", "1G", in bytes. K, M, G and T are powers of 1024. */
int value_read_size(const char *text, uint64_t *ret);
void value_write_size(uint64_t value, char text[VALUE_TEXT_MAX]);

/* "500ms", "30s", "1.5s", "5min" or "5m", "1h", "30" (seconds), in milliseconds. A fraction must
 * amount to a whole number of milliseconds. */
int value_read_duration(const char *text, uint64_t *ret);
void value_write_duration(uint64_t value, char text[VALUE_TEXT_MAX]);
