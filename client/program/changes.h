/* SPDX-License-Identifier: MIT */
#pragma once
/* Says when files were written again. Watches their folders: editors put a new file in the place of
 * the old one. */

#include "proto/fault.h"

#include <stdbool.h>
#include <stddef.h>

/* Most folders, of all trees together, that are watched; what lies in further ones is not. */
#define CHANGES_FOLDERS_MAX 256

struct changes {
    int fd;                /* readable when something happened in a folder */
    struct watched *items; /* owned */
    size_t n;
    const char *changed; /* what changed last, as its caller named it; borrowed */
};

#define CHANGES_NULL \
    {                \
        .fd = -1,    \
    }

/* Watches nothing yet. 0 or a negative errno. */
int changes_open(struct changes *ret);

/* Watches the file at PATH (borrowed until changes_close()), which may vanish and come back.
 * Negative errno with FAULT. */
int changes_add_file(struct changes *changes, const char *path, struct fault *fault);

/* Watches all files in the folder at PATH (borrowed as above) and in the folders in it; hidden ones
 * and backups (NAME~) do not count, which editors make. If PATH is no folder, watches that file.
 * Called again it takes in the folders that are new. Negative errno with FAULT. */
int changes_add_tree(struct changes *changes, const char *path, struct fault *fault);

/* Reads what has happened. Returns 1 if a file was written or replaced, or one of a tree removed; 0
 * if nothing of the kind; or negative errno: -ENOENT if the folder of a file has gone. */
int changes_take(struct changes *changes);

void changes_close(struct changes *changes);
#define _cleanup_changes_ _cleanup_(changes_close)
