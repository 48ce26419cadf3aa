/* SPDX-License-Identifier: MIT */
#pragma once
/* The files of conf/languages.d as the build found them (embed_languages.py). Private to conf/. */

#include <stddef.h>

struct language_builtin {
    const char *name;
    const char *text;
    size_t length;
};

extern const struct language_builtin language_builtin[];
extern const size_t language_builtin_count;
