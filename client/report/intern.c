/* SPDX-License-Identifier: MIT */
#include "intern.h"

#include "proto/util.h"

#include <assert.h>
#include <string.h>

#define SLOTS_FIRST 64
#define BYTES_FIRST 4096

void intern_deinit(struct intern *intern)
{
    free(intern->bytes);
    free(intern->at);
    free(intern->slots);
    *intern = (struct intern)INTERN_NULL;
}

/* FNV-1a, then a mixer, because the low bits choose the slot. */
static uint32_t hash_of(const void *text, size_t n)
{
    const unsigned char *s = text;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ s[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(hash >> 32);
}

static size_t length_of(const struct intern *intern, size_t number)
{
    return intern->at[number + 1] - intern->at[number] - 1;
}

static bool is_text(const struct intern *intern, size_t number, const void *text, size_t n)
{
    return length_of(intern, number) == n &&
           memcmp(intern->bytes + intern->at[number], text, n) == 0;
}

/* Returns the slot that holds the text, or the free one where it belongs. */
static size_t slot_of(const struct intern *intern, const void *text, size_t n, uint32_t hash)
{
    size_t slot = hash & (intern->n_slots - 1);
    assert((intern->n_slots & (intern->n_slots - 1)) == 0);
    assert(intern->n < intern->n_slots); /* so that the search ends */
    while (intern->slots[slot] != 0 && !is_text(intern, intern->slots[slot] - 1, text, n))
        slot = (slot + 1) & (intern->n_slots - 1);
    return slot;
}

static int grow_slots(struct intern *intern)
{
    if (intern->n_slots > 0 && intern->n < intern->n_slots / 4 * 3)
        return 0;
    size_t n_slots = MAX(2 * intern->n_slots, (size_t)SLOTS_FIRST);
    uint32_t *slots = calloc(n_slots, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < intern->n; i++) {
        uint32_t hash = hash_of(intern->bytes + intern->at[i], length_of(intern, i));
        size_t slot = hash & (n_slots - 1);
        while (slots[slot] != 0)
            slot = (slot + 1) & (n_slots - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    free(intern->slots);
    intern->slots = slots;
    intern->n_slots = n_slots;
    return 0;
}

static int grow_texts(struct intern *intern, size_t n)
{
    if (intern->n + 1 >= intern->n_room) {
        size_t room = MAX(intern->n_room + intern->n_room / 2, (size_t)SLOTS_FIRST);
        size_t *grown = reallocarray(intern->at, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        intern->at = grown;
        intern->n_room = room;
    }
    if (intern->room - intern->used <= n) {
        size_t room = MAX(intern->room + intern->room / 2, intern->used + n + BYTES_FIRST);
        char *grown = realloc(intern->bytes, room);
        if (!grown)
            return -ENOMEM;
        intern->bytes = grown;
        intern->room = room;
    }
    return 0;
}

int intern_put(struct intern *intern, const void *text, size_t n, uint32_t *ret)
{
    if (n >= UINT32_MAX || intern->n >= INTERN_NONE - 1)
        return -EFBIG;
    int r = grow_slots(intern);
    if (r < 0)
        return r;
    uint32_t hash = hash_of(text, n);
    size_t slot = slot_of(intern, text, n, hash);
    if (intern->slots[slot] != 0) {
        *ret = intern->slots[slot] - 1;
        return 0;
    }
    r = grow_texts(intern, n);
    if (r < 0)
        return r;
    if (n > 0)
        memcpy(intern->bytes + intern->used, text, n);
    intern->bytes[intern->used + n] = '\0';
    intern->at[intern->n] = intern->used;
    intern->used += n + 1;
    intern->at[intern->n + 1] = intern->used;
    intern->slots[slot] = (uint32_t)++intern->n;
    *ret = (uint32_t)intern->n - 1;
    return 0;
}

uint32_t intern_find(const struct intern *intern, const void *text, size_t n)
{
    if (intern->n_slots == 0)
        return INTERN_NONE;
    size_t slot = slot_of(intern, text, n, hash_of(text, n));
    return intern->slots[slot] == 0 ? INTERN_NONE : intern->slots[slot] - 1;
}

const char *intern_text(const struct intern *intern, uint32_t number, size_t *ret_n)
{
    assert(number < intern->n);
    if (ret_n)
        *ret_n = length_of(intern, number);
    return intern->bytes + intern->at[number];
}
