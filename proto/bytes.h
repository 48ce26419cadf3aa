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

/* Copies N bytes; 0 or -ENOMEM. */
int bytes_copy(const char *data, size_t n, struct bytes *ret);
