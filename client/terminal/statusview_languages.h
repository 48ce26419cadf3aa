/* SPDX-License-Identifier: MIT */
#pragma once
/* The part of the status page that shows programming languages. Pure. */

#include "proto/json.h"

#include <stdio.h>

/* Writes a line for each of LANGUAGES that the daemon has, with its version, and one line with the
 * names of the others. No line is longer than COLUMNS. */
void statusview_put_languages(FILE *out, const json_t *languages, size_t columns);
