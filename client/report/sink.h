/* SPDX-License-Identifier: MIT */
#pragma once
/* Where a report goes. */

#include "proto/fault.h"

#include <stdbool.h>

/* A file that appears under its name when all of it has been written, so that nobody ever finds
 * half a report there. */
struct sink {
    char *path, *temporary; /* owned */
    FILE *stream;
};

#define SINK_NULL     \
    {                 \
        .path = NULL, \
    }

/* PATH may exist only with FORCE. Negative with FAULT. */
int sink_open(struct sink *sink, const char *path, bool force, struct fault *fault);

/* Moves what was written to its place. Negative with FAULT. */
int sink_commit(struct sink *sink, struct fault *fault);

/* Leaves nothing of what was not committed. */
void sink_close(struct sink *sink);
