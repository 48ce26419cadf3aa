/* SPDX-License-Identifier: MIT */
#pragma once
/* The lines of a batch's files, read as they are asked for and never more than needed. A file whose
 * name ends in ".gz" is taken for compressed. */

#include "gunzip.h"

#include "proto/fault.h"

#include <event2/buffer.h>
#include <stdbool.h>
#include <stdint.h>

enum input_state {
    INPUT_LINE,  /* a line */
    INPUT_WAIT,  /* input->fd has to be polled and input_read called */
    INPUT_WRONG, /* a line or a file that cannot be used: FAULT; go on with the next call */
    INPUT_END,
};

struct input {
    const char *const *files; /* "-" is standard input */
    size_t n_files;
    size_t next_file;
    size_t max_line; /* bytes */

    int fd;                /* -1: none is open */
    const char *name;      /* of the open file, for messages */
    uint64_t line_no;      /* of the line that was returned last */
    bool at_end;           /* of the open file */
    bool skipping;         /* the rest of a line that is too long */
    int read_error;        /* errno of a failed read */
    struct gunzip *gunzip; /* NULL: the open file is as it is */
    struct evbuffer *buffer;
    size_t scanned;  /* bytes at its beginning that have no newline */
    size_t consumed; /* bytes at its beginning that the last line took */
};

#define INPUT_NULL \
    {              \
        .fd = -1,  \
    }

/* FILES is borrowed. 0 or -ENOMEM. */
int input_init(struct input *input, const char *const *files, size_t n_files, size_t max_line);
void input_deinit(struct input *input);

/* How many lines FILES have, without reading more than a part of them where they are large:
 * *ret_about is set then. 0 where it cannot be told: one is standard input, a pipe, or compressed.
 */
uint64_t input_count(const char *const *files, size_t n_files, bool *ret_about);

/* INPUT_LINE sets *ret_line and *ret_length (without the newline), valid until the next call. */
enum input_state input_next(struct input *input, const char **ret_line, size_t *ret_length,
                            struct fault *fault);

/* Reads once; to be called when input->fd is readable. */
void input_read(struct input *input);
