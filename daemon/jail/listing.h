/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads directories that untrusted code has made.
 *
 * File names are job data, and the next job may be a copy of this memory. readdir(3) would leave
 * names in buffers of the C library, so this calls getdents64() and wipes its own buffer. */

#include <dirent.h>
#include <stddef.h>

/* A directory being read, independent of the descriptor that it was opened from. */
struct listing {
    int fd;
    size_t at, length;
    _Alignas(struct dirent64) char entries[8192];
};

/* Begins to read the directory DIR. 0 or a negative errno; listing_deinit() is due either way. */
int listing_init(struct listing *listing, int dir);

void listing_deinit(struct listing *listing);

/* Returns the next entry, skipping "." and ".."; NULL at the end. Valid until the next call. */
const struct dirent64 *listing_next(struct listing *listing);

/* Opens the directory NAME of PARENT for reading, even if its mode forbids that, which it may
 * change. Follows no link. Returns a descriptor or a negative errno. */
int listing_open(int parent, const char *name);
