/* SPDX-License-Identifier: MIT */
#pragma once
/* The first few of many names, for messages, and how many there are. */

#include <stddef.h>

#define FEW_NAMES 3
/* Bytes of few_names_text() at most. */
#define FEW_NAMES_TEXT 384

struct few_names {
    char *names[FEW_NAMES]; /* owned; the first of them */
    size_t n;
};

#define FEW_NAMES_NULL \
    {                  \
        .n = 0         \
    }

/* 0 or -ENOMEM. */
int few_names_add(struct few_names *few, const char *name);

/* Adds those of OTHERS. 0 or -ENOMEM. */
int few_names_add_all(struct few_names *few, const struct few_names *others);

/* Writes "a, b, c and 2 more"; cuts long names. Returns OUT. */
const char *few_names_text(const struct few_names *few, char out[FEW_NAMES_TEXT]);

void few_names_deinit(struct few_names *few);
#define _cleanup_few_names_ _cleanup_(few_names_deinit)
