/* SPDX-License-Identifier: MIT */
#pragma once
/* Maps millions of ids to a number each. Keeps 128 bits of an id's SHA-256 and nothing else of it:
 * 32 bytes for each, whatever its length, including the free room of the table. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap_entry {
    uint64_t key[2]; /* all zero: free */
    uint64_t value;
};

struct idmap {
    struct idmap_entry *entries;
    size_t room;
    size_t n;
};

#define IDMAP_NULL       \
    {                    \
        .entries = NULL, \
    }

void idmap_deinit(struct idmap *map);

/* Makes room for N ids, so that memory does not grow as they come. 0 or -ENOMEM. */
int idmap_reserve(struct idmap *map, size_t n);

/* Returns the value of the id, 0 if it is new. The pointer is valid until the next call. NULL when
 * memory runs out. */
uint64_t *idmap_put(struct idmap *map, const char *id, size_t n);

/* Returns the value of the id, or NULL if it is not in MAP. */
uint64_t *idmap_find(const struct idmap *map, const char *id, size_t n);
