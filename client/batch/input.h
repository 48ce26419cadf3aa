/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the lines of a batch's files on demand, and inflates files whose name ends in ".gz". */

#include "gunzip.h"

#include "proto/fault.h"

#include <event2/buffer.h>
#include <stdbool.h>
#include <stdint.h>

enum input_state {
    INPUT_LINE,
    INPUT_WAIT,  /* poll input->fd, then call input_read() */
    INPUT_WRONG, /* a line or file that cannot be used, see FAULT; call again for the next */
    INPUT_END,
};

struct input {
    const char *const *files; /* "-" is standard input */
    size_t n_files;
    size_t next_file;
    size_t max_line; /* bytes */

    int fd;                /* -1: none is open */
    const char *name;      /* of the open file, for messages */
    uint64_t line_no;      /* of the last line returned */
    bool at_end;           /* of the open file */
    bool skipping;         /* inside a line that is too long */
    int read_error;        /* errno of a failed read */
    struct gunzip *gunzip; /* NULL: the open file is not compressed */
    struct evbuffer *buffer;
    size_t scanned;  /* bytes at its beginning known to hold no newline */
    size_t consumed; /* bytes at its beginning that the last line takes */
};

#define INPUT_NULL \
    {              \
        .fd = -1,  \
    }

/* FILES is borrowed. 0 or -ENOMEM. */
int input_init(struct input *input, const char *const *files, size_t n_files, size_t max_line);
void input_deinit(struct input *input);

/* Counts the lines of FILES. Reads only a part of large ones and then sets *ret_about: the count is
 * an estimate. Returns 0 if it cannot tell, for standard input, a pipe or a compressed file. */
uint64_t input_count(const char *const *files, size_t n_files, bool *ret_about);

/* Takes the next line. INPUT_LINE sets *ret_line and *ret_length (without the newline), valid until
 * the next call. */
enum input_state input_next(struct input *input, const char **ret_line, size_t *ret_length,
                            struct fault *fault);

/* Takes the next line as input_next() does, and waits for it: never returns INPUT_WAIT. */
enum input_state input_next_blocking(struct input *input, const char **ret_line, size_t *ret_length,
                                     struct fault *fault);

/* Reads once from input->fd, which is readable. */
void input_read(struct input *input);
