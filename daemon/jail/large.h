/* SPDX-License-Identifier: MIT */
#pragma once
/* Large pages for an interpreter of which jobs are copies. Where the kernel grants none, all is as
 * it would be without this, and slower. Needs Python.h first. */

#include <stdint.h>

struct large {
    uintptr_t heap; /* where the C library's begins, as far as the interpreter is concerned */
    uintptr_t arenas, next, end; /* what is reserved for objects, and how much of it is taken */
    PyObjectArenaAllocator usual;
};

/* Before the interpreter starts: what it allocates from here on is laid where large pages can hold
 * it. LARGE is not to go before large_end(). */
void large_begin(struct large *large);

/* When it has loaded all that it is to load: puts that into large pages. What is allocated from
 * here on is laid as usual. */
void large_end(struct large *large);

/* Puts what is only read, code and constants, of the library that has FUNCTION into large pages of
 * this process. Nothing of that library may be running. */
void large_copy_library(uintptr_t function);
