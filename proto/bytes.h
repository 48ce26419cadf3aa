/* SPDX-License-Identifier: MIT */
#pragma once
/* A string of bytes that may hold NUL. */

#include "util.h"

#include <stddef.h>

/* The bytes are owned; data has a terminating NUL that length does not count. */
struct bytes {
    char *data;
    size_t length;
};

#define BYTES_NULL   \
    {                \
        .data = NULL \
    }

/* Frees the bytes and leaves an empty string. */
void bytes_deinit(struct bytes *bytes);
#define _cleanup_bytes_ _cleanup_(bytes_deinit)

/* What the allocator adds to what is asked for, at most: its header, and what it rounds up. */
#define ALLOCATION_OVERHEAD ((size_t)32)

/* Returns the memory that the bytes take, with the allocator's part. */
size_t bytes_memory(const struct bytes *bytes);

/* Returns the memory that TEXT, allocated for itself, takes; 0 for NULL. */
size_t text_memory(const char *text);

/* Returns the bytes of the NULL-terminated TEXTS, each with its NUL; 0 for NULL. */
size_t texts_length(char *const *texts);

/* Returns the memory that TEXTS take, of which each is allocated for itself; 0 for NULL. */
size_t texts_memory(char *const *texts);

/* Copies N bytes; 0 or -ENOMEM. */
int bytes_copy(const char *data, size_t n, struct bytes *ret);
