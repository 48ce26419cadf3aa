/* SPDX-License-Identifier: MIT */
#pragma once
/* A growable list that owns its strings. */

#include "proto/util.h"

#include <stdbool.h>

struct string_list {
    char **item; /* ends with a NULL; itself NULL if the list is empty and never had an item */
    size_t count;
};

#define STRING_LIST_NULL \
    {                    \
        .item = NULL     \
    }

/* Appends a copy of TEXT. Returns 0 or -ENOMEM; the list is then as it was. */
int string_list_add(struct string_list *list, const char *text);

bool string_list_contains(const struct string_list *list, const char *text);

/* Frees everything and leaves an empty list. */
void string_list_deinit(struct string_list *list);
#define _cleanup_string_list_ _cleanup_(string_list_deinit)
