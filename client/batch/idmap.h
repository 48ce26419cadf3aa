/* SPDX-License-Identifier: MIT */
#pragma once
/* A number for each of very many ids. Of an id 128 bits of its SHA-256 are kept, nothing else: 32
 * bytes for each, whatever its length, with the room to find it. */

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

/* Makes room for N ids at once, so that memory does not grow while they come. 0 or -ENOMEM. */
int idmap_reserve(struct idmap *map, size_t n);

/* Where the value of the id is, which is made as 0 where it is new; valid until the next call. NULL
 * when memory runs out. */
uint64_t *idmap_put(struct idmap *map, const char *id, size_t n);

/* The same; NULL where the id is not there. */
uint64_t *idmap_find(const struct idmap *map, const char *id, size_t n);
