/* SPDX-License-Identifier: MIT */
#include "idmap.h"

#include "proto/util.h"

#include <assert.h>
#include <sha2.h>
#include <string.h>

#define ROOM_FIRST 1024

struct key {
    uint64_t part[2];
};

/* Ids are foreign: with a weaker hash somebody could choose them to collide. */
static struct key key_of(const char *id, size_t n)
{
    SHA2_CTX context;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    struct key key;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)id, n);
    SHA256Final(digest, &context);
    memcpy(key.part, digest, sizeof(key.part));
    key.part[1] |= 1; /* a free entry has 0 here */
    return key;
}

void idmap_deinit(struct idmap *map)
{
    free(map->entries);
    *map = (struct idmap)IDMAP_NULL;
}

/* Returns the entry of KEY, or the free one where it belongs. */
static struct idmap_entry *seek(const struct idmap *map, const struct key *key)
{
    assert(map->n < map->room); /* otherwise the search has no end */
    /* Scale the upper bits to the room, which need not be a power of two. */
    size_t at = (size_t)((key->part[0] >> 32) * map->room >> 32);
    for (;; at = at + 1 == map->room ? 0 : at + 1) {
        struct idmap_entry *entry = &map->entries[at];
        if (entry->key[1] == 0 || (entry->key[0] == key->part[0] && entry->key[1] == key->part[1]))
            return entry;
    }
}

static int resize(struct idmap *map, size_t room)
{
    struct idmap grown = {.room = room, .n = map->n};
    if (room > UINT32_MAX || !(grown.entries = calloc(room, sizeof(*grown.entries))))
        return -ENOMEM;
    for (size_t i = 0; i < map->room; i++) {
        const struct idmap_entry *entry = &map->entries[i];
        const struct key key = {.part = {entry->key[0], entry->key[1]}};
        if (entry->key[1] != 0)
            *seek(&grown, &key) = *entry;
    }
    free(map->entries);
    *map = grown;
    return 0;
}

/* The table is at most three quarters full. */
int idmap_reserve(struct idmap *map, size_t n)
{
    if (n > UINT32_MAX / 2)
        return -ENOMEM;
    size_t room = n + n / 3 + 16;
    return room > map->room ? resize(map, room) : 0;
}

uint64_t *idmap_put(struct idmap *map, const char *id, size_t n)
{
    struct key key = key_of(id, n);
    if (map->n + 1 > map->room / 4 * 3 && resize(map, MAX(map->room * 2, ROOM_FIRST)) < 0)
        return NULL;
    struct idmap_entry *entry = seek(map, &key);
    if (entry->key[1] == 0) {
        *entry = (struct idmap_entry){.key = {key.part[0], key.part[1]}};
        map->n++;
    }
    return &entry->value;
}

uint64_t *idmap_find(const struct idmap *map, const char *id, size_t n)
{
    if (map->n == 0)
        return NULL;
    struct key key = key_of(id, n);
    struct idmap_entry *entry = seek(map, &key);
    return entry->key[1] == 0 ? NULL : &entry->value;
}
