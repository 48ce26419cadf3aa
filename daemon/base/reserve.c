/* SPDX-License-Identifier: MIT */
#include "reserve.h"

#include "proto/util.h"

#include <event2/event.h>
#include <jansson.h>

/* Enough for one buffer of libevent (64 KiB, as conn.c reads at once) and small things. Less than
 * what malloc() would map by itself: what is given up stays in the heap. */
#define RESERVE_SIZE (96u << 10)

/* The allocators of the two libraries take no context, so that this is static. */
static void *reserve;

static void take(void)
{
    if (!reserve)
        reserve = malloc(RESERVE_SIZE);
}

bool reserve_give_up(void)
{
    bool was_held = reserve != NULL;
    free(reserve);
    reserve = NULL;
    return was_held;
}

static void *allocate(size_t n)
{
    void *p = malloc(n);
    if (p) {
        take();
        return p;
    }
    return n > 0 && reserve_give_up() ? malloc(n) : NULL;
}

static void *reallocate(void *old, size_t n)
{
    void *p = realloc(old, n);
    if (p || n == 0)
        return p;
    return reserve_give_up() ? realloc(old, n) : NULL;
}

int reserve_init(void)
{
    take();
    event_set_mem_functions(allocate, reallocate, free);
    json_set_alloc_funcs(allocate, free);
    return reserve ? 0 : -ENOMEM;
}
