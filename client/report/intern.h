/* SPDX-License-Identifier: MIT */
#pragma once
/* Distinct texts, numbered from 0 in the order in which they come: a million ids in a few dozen
 * bytes each. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern {
    char *bytes; /* of all texts, each with a NUL behind it */
    size_t used, room;
    size_t *at; /* where each begins; one more than there are: it ends before the next */
    size_t n, n_room;
    uint32_t *slots; /* number + 1 of the text that hashes there; 0: none */
    size_t n_slots;  /* a power of two */
};

#define INTERN_NULL   \
    {                 \
        .bytes = NULL \
    }

#define INTERN_NONE UINT32_MAX

void intern_deinit(struct intern *intern);

/* The number of the N bytes at TEXT, which are copied where they are new. -ENOMEM, -EFBIG. */
int intern_put(struct intern *intern, const void *text, size_t n, uint32_t *ret);

/* The same without adding: INTERN_NONE where it is not there. */
uint32_t intern_find(const struct intern *intern, const void *text, size_t n);

/* Text NUMBER, NUL-terminated, valid until the next intern_put. *RET_N may be NULL. */
const char *intern_text(const struct intern *intern, uint32_t number, size_t *ret_n);
