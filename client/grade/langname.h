/* SPDX-License-Identifier: MIT */
#pragma once
/* The languages that data sets name, as far as their samples have to be understood here: where the
 * code of an answer is, and whether it defines a function itself. Which languages can be run, and
 * how, is the daemon's to say. Pure. */

#include "proto/bytes.h"

#include <stdbool.h>

struct langname {
    const char *name;               /* as jobs of kind `program` have it: "cpp" */
    const char *title;              /* "C++" */
    const char *const *tags;        /* of fences, and in data sets, in lower case; ends with NULL */
    const char *const *definitions; /* words before a name that is defined; ends with NULL. NULL: a
                                     * definition is the name, (...) and `{`, as in C */
};

/* The language of NAME, which may be any of its tags, in any case. NULL if it is not known. */
const struct langname *langname_find(const char *name);

/* The language that WORDS name, with or without a version or an implementation: "GNU C++17",
 * "Python (3.10)". NULL if they name none. */
const struct langname *langname_in(const char *words);

/* NAME as jobs have it; NAME itself if it is not known. */
const char *langname_of(const char *name);

/* NAME for people; NAME itself if it is not known. */
const char *langname_title(const char *name);

/* Where the N bytes of TEXT in LANGUAGE define FUNCTION: the offset of the line on which that
 * begins, or -1. */
ssize_t langname_defines(const char *language, const char *text, size_t n, const char *function);

/* Finds the code in the N bytes of TEXT, a model's answer in LANGUAGE, as the daemon does for kinds
 * that take a generation. 0 or -ENOMEM; the caller owns *ret. */
int langname_extract(const char *language, const char *text, size_t n, struct bytes *ret);
