/* SPDX-License-Identifier: MIT */
#pragma once
/* An allocator for json_set_alloc_funcs() that runs out of memory once. */

#include <stdlib.h>

static int allocations_left; /* until the one that fails; negative: it has failed */

/* Fails once, after ALLOCATIONS_LEFT successes. */
static inline void *scarce_malloc(size_t size)
{
    return allocations_left-- == 0 ? NULL : malloc(size);
}
