/* SPDX-License-Identifier: MIT */
#pragma once
/* Valid UTF-8 from arbitrary bytes. */

#include <stddef.h>
#include <stdint.h>

/* Decodes N bytes as Python's bytes.decode("utf-8", "replace") does: every maximal ill-formed part
 * becomes one U+FFFD. Returns the result as NUL-terminated UTF-8, which the caller frees, and its
 * length, since NUL bytes of the input stay. NULL when memory runs out. */
char *utf8_replace(const char *bytes, size_t n, size_t *ret_length);

/* Returns the largest length <= MAX at which the valid UTF-8 text of N bytes can be cut. */
size_t utf8_cut(const char *text, size_t n, size_t max);

/* Returns the code point of the well-formed sequence of N bytes at TEXT. */
unsigned utf8_code_point(const char *text, size_t n);

/* Returns the length of the well-formed sequence at TEXT, or minus that of the maximal ill-formed
 * part there (Unicode 15, table 3-7 and section 3.9, "Substitution of Maximal Subparts"). N >= 1.
 */
int utf8_sequence(const char *text, size_t n);
