/* SPDX-License-Identifier: MIT */
#pragma once
/* A table of distinct texts, numbered from 0 in the order of their first use. A million ids take a
 * few dozen bytes each. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern {
    char *bytes; /* the texts, each with a NUL behind it */
    size_t used, room;
    size_t *at; /* where each text begins; at[n] is where the next one will */
    size_t n, n_room;
    uint32_t *slots; /* hash table: number + 1 of a text; 0: free */
    size_t n_slots;  /* a power of two */
};

#define INTERN_NULL   \
    {                 \
        .bytes = NULL \
    }

#define INTERN_NONE UINT32_MAX

void intern_deinit(struct intern *intern);

/* Sets *RET to the number of the N bytes at TEXT, and copies them if they are new. 0, -ENOMEM, or
 * -EFBIG if they are too long or too many. */
int intern_put(struct intern *intern, const void *text, size_t n, uint32_t *ret);

/* Returns the number of a text, or INTERN_NONE if the table does not have it. */
uint32_t intern_find(const struct intern *intern, const void *text, size_t n);

/* Returns text NUMBER, NUL-terminated and valid until the next intern_put(). RET_N may be NULL. */
const char *intern_text(const struct intern *intern, uint32_t number, size_t *ret_n);
