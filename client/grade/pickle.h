/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the one form of Python's pickles in which data sets pack their tests: a single text, or a
 * dictionary with a single member, which is a text. Everything else is refused: a pickle is a
 * program, and this reader runs none. It keeps no stack, makes no objects and allocates nothing.
 * Pure. */

#include "proto/fault.h"

/* Finds the text in the N bytes of DATA, which are nothing else than such a pickle (protocols 2 to
 * 5). KEY is the name of the member that a dictionary must have. Whether the text is UTF-8 is
 * not looked at. -EINVAL with FAULT, which names the byte; *ret is borrowed from DATA. */
int pickle_read_text(const char *data, size_t n, const char *key, const char **ret, size_t *ret_n,
                     struct fault *fault);
