/* SPDX-License-Identifier: MIT */
#pragma once
/* The words that Python keeps for itself. */

#include <stdbool.h>
#include <stddef.h>

/* Whether the N bytes at TEXT are a keyword of Python. The soft ones, such as `match`, are names.
 */
bool python_is_keyword(const char *text, size_t n);
