/* SPDX-License-Identifier: MIT */
#include "fewnames.h"

#include "proto/utf8.h"
#include "proto/util.h"

#include <stdio.h>
#include <string.h>

/* Bytes of one name that are shown. */
#define SHOWN 100

void few_names_deinit(struct few_names *few)
{
    for (size_t i = 0; i < FEW_NAMES; i++)
        free(few->names[i]);
    *few = (struct few_names)FEW_NAMES_NULL;
}

int few_names_add(struct few_names *few, const char *name)
{
    if (few->n < FEW_NAMES && !(few->names[few->n] = strdup(name)))
        return -ENOMEM;
    few->n++;
    return 0;
}

int few_names_add_all(struct few_names *few, const struct few_names *others)
{
    size_t named = MIN(others->n, (size_t)FEW_NAMES);
    for (size_t i = 0; i < named; i++)
        if (few_names_add(few, others->names[i]) < 0)
            return -ENOMEM;
    few->n += others->n - named;
    return 0;
}

const char *few_names_text(const struct few_names *few, char out[FEW_NAMES_TEXT])
{
    size_t named = MIN(few->n, (size_t)FEW_NAMES), length = 0;
    out[0] = '\0';
    for (size_t i = 0; i < named; i++) {
        const char *name = few->names[i], *before = i == 0 ? "" : i == few->n - 1 ? " and " : ", ";
        size_t n = utf8_cut(name, strlen(name), SHOWN);
        length += (size_t)snprintf(out + length, FEW_NAMES_TEXT - length, "%s%.*s%s", before,
                                   (int)n, name, name[n] ? "..." : "");
    }
    if (few->n > named)
        (void)snprintf(out + length, FEW_NAMES_TEXT - length, " and %zu more", few->n - named);
    return out;
}
