/* SPDX-License-Identifier: MIT */
#pragma once
/* JSON for people: a terminal shows it and obeys none of it. */

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

/* Returns what json_dumpf() to OUT is to escape: at a terminal also the control characters and
 * changes of direction that JSON allows in strings. */
static inline size_t terminal_json_flags(FILE *out)
{
    return isatty(fileno(out)) ? JSON_ENSURE_ASCII : 0;
}
