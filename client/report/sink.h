/* SPDX-License-Identifier: MIT */
#pragma once
/* The file that a report goes to. */

#include "proto/fault.h"

#include <stdbool.h>

/* A file that appears under its name only when it is complete: sink_open() makes a temporary one,
 * sink_commit() renames it. A device or a pipe is written in place. */
struct sink {
    char *path, *temporary; /* owned */
    FILE *stream;
};

#define SINK_NULL     \
    {                 \
        .path = NULL, \
    }

/* Opens a file for PATH, which may exist only with FORCE. 0, or negative with FAULT. */
int sink_open(struct sink *sink, const char *path, bool force, struct fault *fault);

/* Writes everything to disk and renames the file to its path. 0, or negative with FAULT. */
int sink_commit(struct sink *sink, struct fault *fault);

/* Closes SINK, and removes the temporary file unless it was committed. */
void sink_close(struct sink *sink);
