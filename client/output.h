/* SPDX-License-Identifier: MIT */
#pragma once
/* Where a batch's results go: standard output or a file, written without ever blocking the loop
 * on a reader that is slow. */

#include "proto/fault.h"

#include <event2/buffer.h>
#include <stdbool.h>

struct output {
    int fd;
    bool regular; /* a file: never blocks */
    struct evbuffer *buffer;
};

#define OUTPUT_NULL \
    {               \
        .fd = -1,   \
    }

/* PATH NULL or "-" is standard output. An existing file is refused without FORCE, and one of the N
 * INPUTS always. Negative with FAULT. */
int output_open(struct output *output, const char *path, bool force, const char *const *inputs,
                size_t n, struct fault *fault);
void output_close(struct output *output);

/* Queues N bytes and a newline. 0 or -ENOMEM. */
int output_line(struct output *output, const char *text, size_t n);

size_t output_unwritten(const struct output *output);

/* Writes what can be written without waiting. 0; -EPIPE where the reader has gone; other negative
 * errno. */
int output_flush(struct output *output);
