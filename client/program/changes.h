/* SPDX-License-Identifier: MIT */
#pragma once
/* Says when a file was written again. Watches its folder: editors put a new file in its place. */

#include "proto/fault.h"

#include <stdbool.h>

struct changes {
    int fd; /* readable when something happened in the folder */
    char *name;
};

#define CHANGES_NULL \
    {                \
        .fd = -1,    \
    }

/* Watches the file at PATH, which may vanish and come back. Negative errno with FAULT. */
int changes_open(const char *path, struct changes *ret, struct fault *fault);

/* Reads what has happened. Returns 1 if the file was written or replaced, 0 if only others were,
 * or negative errno: -ENOENT if the folder itself has gone. */
int changes_take(struct changes *changes);

void changes_close(struct changes *changes);
#define _cleanup_changes_ _cleanup_(changes_close)
