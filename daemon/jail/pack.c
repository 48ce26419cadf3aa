/* SPDX-License-Identifier: MIT */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "pack.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Of the interpreter's allocator for objects: blocks of up to 512 bytes, in steps of 16, lie side
 * by side in pools of 16 KiB, behind a header. An allocator that is built otherwise wastes at most
 * TAKEN_MAX bytes of each size here. */
#define BLOCK_MAX 512
#define BLOCK_STEP 16
#define POOL ((uintptr_t)16 << 10)
#define POOL_HEADER 48
#define TAKEN_MAX ((size_t)1 << 20)
/* Sizes that the C library serves from its heap. */
#define CHUNK_MAX ((size_t)120 << 10)
#define CHUNK_STEP 16

/* Takes blocks of SIZE until they have filled a fresh pool from its start to its end, and gives
 * those back. */
static void fill_pools(size_t size)
{
    const size_t of_pool = (POOL - POOL_HEADER) / size;
    size_t in_row = 0;
    char *block = NULL;
    for (size_t taken = 0; taken < TAKEN_MAX && in_row < of_pool; taken += size) {
        char *previous = block;
        block = PyObject_Malloc(size);
        if (!block)
            return;
        if ((uintptr_t)block % POOL == POOL_HEADER)
            in_row = 1;
        else
            in_row = in_row > 0 && block == previous + size ? in_row + 1 : 0;
    }
    if (in_row == of_pool)
        for (size_t i = 0; i < of_pool; i++)
            PyObject_Free(block - i * size);
}

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
    for (size_t size = BLOCK_STEP; size <= BLOCK_MAX; size += BLOCK_STEP)
        fill_pools(size);
    struct mallinfo2 info = mallinfo2();
    uintptr_t end = (uintptr_t)sbrk(0), top = end - info.keepcost, bottom = end - info.arena;
    for (size_t size = CHUNK_MAX; size >= CHUNK_STEP; size -= size > 4096 ? 1024 : CHUNK_STEP)
        fill_chunks(size, bottom, top);
}
