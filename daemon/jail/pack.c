/* SPDX-License-Identifier: MIT */
#include "pack.h"

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define TAKEN_MAX ((size_t)1 << 20)
/* Sizes that the C library serves from its heap. */
#define CHUNK_MAX ((size_t)120 << 10)
#define CHUNK_STEP 16

/* Takes chunks of SIZE that lie below TOP. */
static void fill_chunks(size_t size, uintptr_t bottom, uintptr_t top)
{
    for (size_t taken = 0; taken < TAKEN_MAX; taken += size) {
        void *chunk = malloc(size);
        if (!chunk)
            return;
        if ((uintptr_t)chunk < bottom || (uintptr_t)chunk >= top) {
            free(chunk);
            return;
        }
    }
}

void pack_memory(void)
{
    struct mallinfo2 info = mallinfo2();
    uintptr_t end = (uintptr_t)sbrk(0), top = end - info.keepcost, bottom = end - info.arena;
    for (size_t size = CHUNK_MAX; size >= CHUNK_STEP; size -= size > 4096 ? 1024 : CHUNK_STEP)
        fill_chunks(size, bottom, top);
}
