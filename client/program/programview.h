/* SPDX-License-Identifier: MIT */
#pragma once
/* The answer to a job of kind `program`, for people. Pure. */

#include "proto/json.h"

#include <stdio.h>

struct programview {
    const char *source; /* the path of the program, as the user gave it; NULL: not known */
    size_t columns;
    bool colour;
};

/* Writes the WORDS of a compiler as it laid them out, with PATH (NULL: not known), the user's name
 * for the source, in place of the daemon's. */
void programview_put_words(FILE *out, const char *words, const char *path);

/* Writes RESULT: the compiler's words if it failed or warned, with the user's name for the source,
 * a row for each test with what went wrong beneath it, and "N of M passed". NAMES has those of all
 * tests. */
void programview_put(FILE *out, const json_t *result, const json_t *names,
                     const struct programview *view);
