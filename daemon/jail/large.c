/* SPDX-License-Identifier: MIT */
/* Theory of operation. fork() makes a page table entry for each page of the parent and counts each
 * page's users. For the thousands of pages of an interpreter, the kernel spends more time on this,
 * at the fork and at the child's end, than many scripts run. A large page needs one entry. When a
 * job writes to a large page, the kernel splits it: it makes and removes the small entries in bulk,
 * and copies only the small page that is written to.
 *
 * Pages of a library's code are not copied by fork(): the child faults them in, a few at a time,
 * when it first runs them. In large anonymous pages of the process they are copied with the rest.
 *
 * large_begin() and large_end() lay everything that the interpreter allocates while it loads into
 * aligned memory, and ask the kernel to make large pages of it (MADV_COLLAPSE, Linux 6.1).
 * large_copy_library() replaces a library's read-only mapping by a copy in large pages. Machines
 * with large pages of another size are left alone. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "large.h"

#include <assert.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define LARGE ((uintptr_t)2 << 20)

/* Bytes that are copied at once: few enough that the C library leaves them in the caches. */
#define PIECE ((size_t)64 << 10)

/* Address space reserved for objects; the unused part is returned. */
#define ARENAS_MAX (32 * LARGE)
/* The interpreter allocates pieces of its stack (16 KiB) by the same allocator as arenas (1 MiB).
 * Only arenas belong into the reserved space. */
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

/* Reserves N bytes, a multiple of LARGE, at an address aligned to LARGE. Returns 0 on failure. */
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

/* Makes large pages of the writable memory between FROM and TO, both aligned to LARGE. Returns
 * false if part of it stays in small pages, for example because the host has too few large ones. */
static bool make_large(uintptr_t from, uintptr_t to)
{
    assert(from == down(from, LARGE) && to == down(to, LARGE));
    for (uintptr_t at = from; at < to; at += LARGE) {
        volatile char *first = (volatile char *)at;
        *first = *first; /* the kernel skips a range that has no page at all */
    }
    /* One call for the whole range: in each call the kernel asks every processor for the pages that
     * it holds back. */
    return madvise((void *)from, to - from, MADV_COLLAPSE) == 0;
}

/* --- what is allocated --------------------------------------------------------------------- */

static void *allocate_arena(void *context, size_t size)
{
    struct large *large = context;
    if (size >= ARENA_MIN && large->is_full) {
        large->is_wanted = true;
        return NULL;
    }
    if (size < ARENA_MIN || size > large->end - large->next)
        return large->usual.alloc(large->usual.ctx, size);
    large->next += size;
    return (void *)(large->next - size);
}

/* Keeps a reserved arena, because the reserved range must have no holes. Few modules free that much
 * while they load. */
static void free_arena(void *context, void *arena, size_t size)
{
    const struct large *large = context;
    uintptr_t at = (uintptr_t)arena;
    if (at < large->arenas || at >= large->end)
        large->usual.free(large->usual.ctx, arena, size);
}

/* Reserves a large page and gives out its parts. A page fault costs ten times as much as the bytes
 * that the kernel clears or copies for it, and most jobs write to some hundred small pages. */
static void *allocate_fresh(void *context, size_t size)
{
    struct large *large = context;
    if (size < ARENA_MIN || size > LARGE)
        return large->usual.alloc(large->usual.ctx, size);
    if (size > large->fresh_end - large->fresh) {
        uintptr_t there = reserve(LARGE);
        if (!there)
            return large->usual.alloc(large->usual.ctx, size);
        (void)madvise((void *)there, LARGE, MADV_HUGEPAGE);
        large->fresh = there;
        large->fresh_end = there + LARGE;
    }
    large->fresh += size;
    return (void *)(large->fresh - size);
}

static void free_fresh(void *context, void *arena, size_t size)
{
    const struct large *large = context;
    large->usual.free(large->usual.ctx, arena,
                      size); /* munmap(), be it of a part of a large page */
}

/* The interpreter's allocator for objects serves blocks of up to 512 bytes, in steps of 16. */
#define BLOCK_MAX 512
#define BLOCK_STEP 16
/* One that is built otherwise wastes at most TAKEN_MAX bytes of each size here. */
#define TAKEN_MAX ((size_t)4 << 20)
/* Small blocks that stay free, of each size: a jail that only waits needs a few around each fork.
 */
#define LEFT 4
#define LEFT_SIZE_MAX 128

/* Takes the blocks of SIZE that are free, and of memory that belongs to no size yet all. */
static void fill_size(struct large *large, size_t size)
{
    void *left[LEFT] = {NULL};
    size_t count = 0;
    large->is_wanted = false;
    for (size_t taken = 0; taken < TAKEN_MAX; taken += size) {
        void *block = PyObject_Malloc(size);
        if (!block || large->is_wanted) {
            PyObject_Free(block); /* of the C library's */
            break;
        }
        left[count++ % LEFT] = block;
    }
    for (size_t i = 0; i < LEFT && size <= LEFT_SIZE_MAX; i++)
        PyObject_Free(left[i]);
}

void large_fill(struct large *large)
{
    if (large->next == large->arenas)
        return;
    large->is_full = true;
    for (size_t size = BLOCK_MAX; size >= BLOCK_STEP; size -= BLOCK_STEP)
        fill_size(large, size);
    large->is_full = false;
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

void large_mark(struct large *large)
{
    /* What was loaded before shall share no large page with it. */
    if (up(large->next, LARGE) <= large->end)
        large->next = up(large->next, LARGE);
    large->busy = down(large->next, LARGE);
}

void large_end(struct large *large)
{
    uintptr_t now = (uintptr_t)sbrk(0), heap_end = up(now, LARGE), taken = up(large->next, LARGE);
    assert(large->arenas <= large->next && large->next <= large->end);
    PyObjectArenaAllocator allocator = {large, allocate_fresh, free_fresh};
    PyObject_SetArenaAllocator(&allocator);
    release(taken, large->end);
    large->busy_end = make_large(large->arenas, taken) ? taken : 0;
    if (large->heap < now && sbrk((intptr_t)(heap_end - now)) != (void *)-1)
        (void)make_large(large->heap, heap_end);
}

void large_renew(const struct large *large)
{
    size_t n = large->busy && large->busy < large->busy_end ? large->busy_end - large->busy : 0;
    uintptr_t there = n > 0 ? reserve(n) : 0;
    if (!there)
        return;
    if (madvise((void *)there, n, MADV_HUGEPAGE) == 0) {
        for (size_t at = 0; at < n; at += PIECE)
            memcpy((void *)(there + at), (const void *)(large->busy + at), PIECE);
        if (mremap((void *)there, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)large->busy) !=
            MAP_FAILED)
            return;
    }
    release(there, there + n);
}

/* --- what is only read of a library -------------------------------------------------------- */

/* A contiguous range of read-only addresses. */
struct readable {
    uintptr_t function; /* an address that the range must contain */
    uintptr_t from, to;
};

static bool has_function(const struct readable *readable)
{
    return readable->from <= readable->function && readable->function < readable->to;
}

/* dl_iterate_phdr() callback: searches one library for the read-only range that contains DATA's
 * function. Returns 1 and stores the range in DATA if it is there. */
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
        /* Make constants executable like the code between them, as a linker does that does not
         * separate the two: in several mappings they would not be in large pages. */
        if (mprotect((void *)there, n, PROT_READ | PROT_EXEC) == 0)
            (void)mremap((void *)there, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)from);
    }
    release(there, there + n);
}
