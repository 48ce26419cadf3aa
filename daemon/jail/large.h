/* SPDX-License-Identifier: MIT */
#pragma once
/* Large pages for an interpreter whose process is forked for each job. If the kernel grants none,
 * everything works as without this, only slower. Include Python.h first. */

#include <stdbool.h>
#include <stdint.h>

struct large {
    uintptr_t heap; /* start of the C library's heap as far as the interpreter uses it */
    uintptr_t arenas, next, end; /* range reserved for objects, and the first unused byte of it */
    uintptr_t fresh, fresh_end;  /* what forks have reserved and not used yet */
    bool is_full;                /* whether no more is to be reserved for objects */
    bool is_wanted;              /* whether more was asked for since then */
    PyObjectArenaAllocator usual;
    uintptr_t busy, busy_end; /* those of them that forks write to, in large pages */
};

/* Call before the interpreter starts. Lays everything that it allocates from here on where large
 * pages can hold it. LARGE must stay valid. */
void large_begin(struct large *large);

/* Fills all memory for objects that is reserved and free, with blocks that stay taken: what is
 * allocated after this lies elsewhere. */
void large_fill(struct large *large);

/* Call before modules are loaded that some forks run much of. */
void large_mark(struct large *large);

/* Call when the interpreter has loaded all modules. Moves what was allocated since large_begin()
 * into large pages. Whatever a fork allocates then lies in large pages of its own. LARGE must stay
 * valid. */
void large_end(struct large *large);

/* Call in a fork that is about to run much of what was loaded since large_mark(). Gives it large
 * pages of its own with these objects, so that the kernel need not copy one small page after the
 * other when it writes to them. */
void large_renew(const struct large *large);

/* Moves the read-only part, code and constants, of the library that contains FUNCTION into large
 * pages of this process. No code of that library may be running. */
void large_copy_library(uintptr_t function);
