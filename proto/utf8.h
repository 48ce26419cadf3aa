/* SPDX-License-Identifier: MIT */
#pragma once
/* UTF-8 out of arbitrary bytes. */

#include <stddef.h>
#include <stdint.h>

/* Decodes N bytes as Python's bytes.decode("utf-8", "replace") does (every maximal ill-formed
 * part becomes one U+FFFD) and returns the result as NUL-terminated UTF-8, to be freed; NUL bytes
 * in the input stay, so the length counts. NULL when memory runs out. */
char *utf8_replace(const char *bytes, size_t n, size_t *ret_length);

/* The largest length <= MAX at which the valid UTF-8 text of N bytes can be cut. */
size_t utf8_cut(const char *text, size_t n, size_t max);
