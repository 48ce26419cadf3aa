/* SPDX-License-Identifier: MIT */
#pragma once
/* Where a batch's results go: standard output or a file. A pipe is written without ever blocking
 * the loop on a reader that is slow. A file is written in whole lines and brought to the disk about
 * once a second, so that a crash leaves a file that can be read and a power cut takes little. */

#include "proto/fault.h"

#include <event2/buffer.h>
#include <stdbool.h>
#include <stdint.h>

struct output {
    int fd;
    bool regular; /* a file: never blocks */
    bool ours;    /* opened here, and locked: nobody else writes to it */
    char *path;   /* NULL: standard output */
    struct evbuffer *buffer;
    int64_t sync_ms; /* when it is to be brought to the disk; INT64_MAX: all of it is there */
};

#define OUTPUT_NULL \
    {               \
        .fd = -1,   \
    }

enum output_mode {
    OUTPUT_NEW,       /* a file that is there already is refused */
    OUTPUT_OVERWRITE, /* ... is emptied */
    OUTPUT_CONTINUE,  /* ... is kept, and written behind its end */
};

/* PATH NULL or "-" is standard output. None of the N INPUTS is ever written. Negative with FAULT,
 * also where another process has the file open like this. */
int output_open(struct output *output, const char *path, enum output_mode mode,
                const char *const *inputs, size_t n, struct fault *fault);
void output_close(struct output *output);

/* Queues N bytes and a newline. 0 or -ENOMEM. */
int output_line(struct output *output, const char *text, size_t n);

size_t output_unwritten(const struct output *output);

/* Writes what can be written without waiting. 0; -EPIPE where the reader has gone; other negative
 * errno: a file of ours then ends with the last line that had room in it. */
int output_flush(struct output *output, int64_t now_ms);

/* Brings a file to the disk if that is due, or with ALWAYS. Negative errno. */
int output_sync(struct output *output, bool always, int64_t now_ms);
