/* SPDX-License-Identifier: MIT */
#pragma once
/* The words that Python keeps for itself, and the names that it gives modules. */

#include <stdbool.h>
#include <stddef.h>

/* Whether the N bytes at TEXT are a keyword of Python. The soft ones, such as `match`, are names.
 */
bool python_is_keyword(const char *text, size_t n);

/* Bytes of the name of a module, with its dots. */
#define PYTHON_MODULE_NAME_MAX 200

/* Whether NAME is one of a module: at most so many bytes, ASCII identifiers with dots between them.
 */
bool python_is_module_name(const char *name);
