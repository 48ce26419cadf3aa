/* SPDX-License-Identifier: MIT */
#include "string_list.h"

#include <string.h>

int string_list_add(struct string_list *list, const char *text)
{
    _cleanup_free_ char *copy = strdup(text);
    char **item = reallocarray(list->item, list->count + 2, sizeof(*item));
    if (item)
        list->item = item;
    if (!copy || !item)
        return -ENOMEM;
    list->item[list->count++] = TAKE_PTR(copy);
    list->item[list->count] = NULL;
    return 0;
}

bool string_list_contains(const struct string_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i], text) == 0)
            return true;
    return false;
}

void string_list_deinit(struct string_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->item[i]);
    free(list->item);
    *list = (struct string_list)STRING_LIST_NULL;
}
