/* SPDX-License-Identifier: MIT */
#pragma once
/* Writes a batch's results to standard output or a file. A slow reader of a pipe never blocks the
 * loop. A file gets whole lines and goes to the disk about once a second, so that a crash leaves it
 * readable and a power cut loses little. */

#include "proto/fault.h"

#include <event2/buffer.h>
#include <stdbool.h>
#include <stdint.h>

struct output {
    int fd;
    bool regular;  /* a regular file: writing does not block */
    bool ours;     /* opened and locked here: no other rubricctl writes to it */
    bool replaces; /* empty the file before the first line: a run without any leaves it as it was */
    char *path;    /* NULL: standard output */
    struct evbuffer *buffer;
    int64_t sync_ms; /* when to bring it to the disk; INT64_MAX: all of it is there */
};

#define OUTPUT_NULL \
    {               \
        .fd = -1,   \
    }

enum output_mode {
    OUTPUT_NEW,       /* refuse a file that exists */
    OUTPUT_OVERWRITE, /* empty it before the first line */
    OUTPUT_CONTINUE,  /* append to it */
};

/* Opens PATH; NULL or "-" is standard output. Refuses to write to one of the N INPUTS, or to a file
 * that another rubricctl writes to. Negative errno with FAULT. */
int output_open(struct output *output, const char *path, enum output_mode mode,
                const char *const *inputs, size_t n, struct fault *fault);
void output_close(struct output *output);

/* Queues N bytes and a newline. 0 or -ENOMEM. */
int output_line(struct output *output, const char *text, size_t n);

size_t output_unwritten(const struct output *output);

/* Writes what it can without waiting. 0, -EPIPE if the reader has gone, or another negative errno;
 * a file of ours then ends with the last line that fitted. */
int output_flush(struct output *output, int64_t now_ms);

/* Brings a file to the disk if that is due, or ALWAYS. 0 or negative errno. */
int output_sync(struct output *output, bool always, int64_t now_ms);
