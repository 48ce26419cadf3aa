/* SPDX-License-Identifier: MIT */
/* Theory of operation: a copy of a process gets an entry in its page tables for each page of its
 * parent's memory, and each page counts its users. For the thousands of an interpreter that takes
 * the kernel longer, at the copy's start and at its end, than many a script runs. A large page is
 * one entry; when a job writes to it that becomes small ones, which are made and taken away many at
 * a time, and only the small page that is written to is copied. A library's code is not entered
 * when a process is copied but looked up, a few pages at a time, when it first runs. In large pages
 * of the process's own it is entered with the rest.
 *
 * The kernel is asked to make a large page of small ones (MADV_COLLAPSE, Linux 6.1), which it does
 * where addresses are aligned. Machines whose large pages have another size are left as they are.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "large.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define LARGE ((uintptr_t)2 << 20)

/* Of addresses, for objects; what is not taken is given back. */
#define ARENAS_MAX (32 * LARGE)
/* The interpreter takes its stack's pieces, of 16 KiB, from where it takes arenas of 1 MiB. */
#define ARENA_MIN ((size_t)256 << 10)

static uintptr_t down(uintptr_t address, uintptr_t unit)
{
    return address & ~(unit - 1);
}

static uintptr_t up(uintptr_t address, uintptr_t unit)
{
    return down(address + unit - 1, unit);
}

static void release(uintptr_t from, uintptr_t to)
{
    if (from < to)
        (void)munmap((void *)from, to - from);
}

/* N bytes at an address that is aligned, as N is; 0 if there are none. */
static uintptr_t reserve(size_t n)
{
    void *reserved = mmap(NULL, n + LARGE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        return 0;
    uintptr_t from = (uintptr_t)reserved, first = up(from, LARGE);
    release(from, first);
    release(first + n, from + n + LARGE);
    return first;
}

/* FROM and TO, both aligned, are around memory that can be written to. False if part of it is not
 * in large pages, of which there may be too few. */
static bool make_large(uintptr_t from, uintptr_t to)
{
    for (uintptr_t at = from; at < to; at += LARGE) {
        volatile char *first = (volatile char *)at;
        *first = *first; /* what has no page at all is not made large */
    }
    /* All in one call: for each the kernel asks every processor for pages that it holds back. */
    return madvise((void *)from, to - from, MADV_COLLAPSE) == 0;
}

/* --- what is allocated --------------------------------------------------------------------- */

static void *allocate_arena(void *context, size_t size)
{
    struct large *large = context;
    if (size < ARENA_MIN || size > large->end - large->next)
        return large->usual.alloc(large->usual.ctx, size);
    large->next += size;
    return (void *)(large->next - size);
}

/* What is reserved is kept, for it is to have no holes; few modules free as much while they load.
 */
static void free_arena(void *context, void *arena, size_t size)
{
    const struct large *large = context;
    uintptr_t at = (uintptr_t)arena;
    if (at < large->arenas || at >= large->end)
        large->usual.free(large->usual.ctx, arena, size);
}

void large_begin(struct large *large)
{
    PyObjectArenaAllocator allocator = {large, allocate_arena, free_arena};
    uintptr_t now = (uintptr_t)sbrk(0);
    large->heap = up(now, LARGE);
    (void)sbrk((intptr_t)(large->heap - now));
    large->arenas = large->next = reserve(ARENAS_MAX);
    large->end = large->arenas ? large->arenas + ARENAS_MAX : 0;
    PyObject_GetArenaAllocator(&large->usual);
    PyObject_SetArenaAllocator(&allocator);
}

void large_end(struct large *large)
{
    uintptr_t now = (uintptr_t)sbrk(0), heap_end = up(now, LARGE), taken = up(large->next, LARGE);
    PyObject_SetArenaAllocator(&large->usual);
    release(taken, large->end);
    (void)make_large(large->arenas, taken);
    if (large->heap < now && sbrk((intptr_t)(heap_end - now)) != (void *)-1)
        (void)make_large(large->heap, heap_end);
}

/* --- what is only read of a library -------------------------------------------------------- */

/* Addresses next to each other that are only read. */
struct readable {
    uintptr_t function; /* is to be among them */
    uintptr_t from, to;
};

static bool has_function(const struct readable *readable)
{
    return readable->from <= readable->function && readable->function < readable->to;
}

/* Looks in one library for those with the function, which go into DATA. 1 if they are there. */
static int find(struct dl_phdr_info *info, size_t size, void *data)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct readable *readable = data;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || header->p_flags & PF_W)
            continue;
        uintptr_t from = down(info->dlpi_addr + header->p_vaddr, page);
        if (from != readable->to) {
            if (has_function(readable))
                break;
            readable->from = from;
        }
        readable->to = up(info->dlpi_addr + header->p_vaddr + header->p_memsz, page);
    }
    if (has_function(readable))
        return 1;
    readable->from = readable->to = 0;
    return 0;
}

void large_copy_library(uintptr_t function)
{
    struct readable readable = {.function = function};
    (void)dl_iterate_phdr(find, &readable);
    uintptr_t from = up(readable.from, LARGE), to = down(readable.to, LARGE);
    size_t n = from < to ? to - from : 0;
    uintptr_t there = n > 0 ? reserve(n) : 0;
    if (!there)
        return;
    if (make_large(there, there + n)) {
        memcpy((void *)there, (const void *)from, n);
        /* Constants between the code are in one mapping with it, as where linkers do not part them:
         * in several it would not be in large pages. */
        if (mprotect((void *)there, n, PROT_READ | PROT_EXEC) == 0)
            (void)mremap((void *)there, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)from);
    }
    release(there, there + n);
}
