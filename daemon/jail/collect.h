/* SPDX-License-Identifier: MIT */
#pragma once
/* Takes files out of a job's work directory when its processes are dead, before it is emptied.
 * Untrusted code made everything there: this opens regular files alone, follows no link, and is
 * bounded in files, names, bytes, directories and time. */

#include <stdbool.h>
#include <stdint.h>

struct collect {
    int cwd; /* the work directory */
    int to;  /* where link_file records are written, from its present offset on */
    /* Of names relative to the work directory (pattern.h); NULL-terminated. */
    const char *const *patterns;
    uint64_t max;     /* bytes of all contents */
    bool is_own_disk; /* the job's files are on a disk of their own, so that no link to one can
                       * come from elsewhere */
    unsigned wall_ms; /* it takes no longer */
};

/* Writes the files that match, and what matches and is left out. Returns 0 or a negative errno,
 * for the first fault if there are several: -EFBIG: their contents exceed MAX, -E2BIG: there are
 * more files, entries or directories than LINK_FILES_MAX, COLLECT_ENTRIES_MAX and
 * COLLECT_QUEUE_MAX allow, -ENAMETOOLONG: a name is longer than LINK_NAME_MAX, -ETIMEDOUT: it took
 * longer than WALL_MS. What is complete has been written then, too. */
int collect_files(const struct collect *what);

/* Entries of directories that are looked at. */
#define COLLECT_ENTRIES_MAX 131072
/* Bytes of the names of all directories that a job's files are looked for in. */
#define COLLECT_QUEUE_MAX (64u << 10)
/* What a jail gives it. The supervisor waits longer than this (JAIL_CLEAN_UP_MS in
 * daemon/pool/slot.c). */
#define COLLECT_MS 3000
