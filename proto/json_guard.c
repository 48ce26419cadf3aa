/* SPDX-License-Identifier: MIT */
#include "json_guard.h"
#include "util.h"

#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <sys/mman.h>

/* Most messages fit, and cost no system call. */
#define SMALL (64u << 10)

#define ALIGNMENT _Alignof(max_align_t)

/* jansson's allocator takes no context, so that this one struct is static. Threads must not share
 * jansson then, and nobody here has any. */
static struct guard {
    char *block; /* NULL: nothing is being parsed */
    size_t size, used;
    json_malloc_t allocate; /* the usual allocator */
    json_free_t release;
    _Alignas(max_align_t) char small[SMALL];
} guard;

static bool is_in_block(const void *p)
{
    return (uintptr_t)p - (uintptr_t)guard.block < guard.size;
}

static void *guarded_malloc(size_t n)
{
    void *p = guard.allocate(n);
    size_t rounded = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (p)
        return p;
    assert(rounded >= n && rounded <= guard.size - guard.used); /* the bound was too low */
    if (rounded < n || rounded > guard.size - guard.used)
        return NULL;
    p = guard.block + guard.used;
    guard.used += rounded;
    return p;
}

static void guarded_free(void *p)
{
    if (!is_in_block(p))
        guard.release(p);
}

int json_guard_begin(size_t size)
{
    assert(!guard.block);
    /* Not malloc(), which would keep larger pieces for itself after it has had one back. */
    void *block = guard.small;
    if (size > SMALL)
        block = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED)
        return -ENOMEM;
    guard.block = block;
    guard.size = size;
    guard.used = 0;
    json_get_alloc_funcs(&guard.allocate, &guard.release);
    json_set_alloc_funcs(guarded_malloc, guarded_free);
    return 0;
}

bool json_guard_was_needed(void)
{
    return guard.used > 0;
}

void json_guard_end(void)
{
    assert(guard.block);
    json_set_alloc_funcs(guard.allocate, guard.release);
    if (guard.size > SMALL)
        (void)munmap(guard.block, guard.size);
    guard.block = NULL;
}
