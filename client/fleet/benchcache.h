/* SPDX-License-Identifier: MIT */
#pragma once
/* Rubrics' directories on the disk of a worker's host, by their digest. Knows nothing of NATS.
 *
 *     CACHE/DIGEST/TASK_CLASS/rubric.py ...
 *
 * CACHE/DIGEST is the bench root that a job is given. Several workers may share a cache.
 *
 * Theory of operation. A directory is written under a name of its own, ".new-...", and renamed when
 * it is complete: what has its name is complete. Whoever uses CACHE/DIGEST holds a shared lock on
 * it, whoever removes it an exclusive one. When the cache is larger than it may be, what was used
 * longest ago goes, but for what is in use. A damaged copy loses its name at once, so that a fresh
 * one can have it, and its files when nobody uses it any more. What a worker that was killed has
 * left over is removed when the next one opens the cache.
 *
 * The daemon and its jobs read these files, but need not be able to write them. They digest what
 * they run: what has changed here is found out then, and benchcache_drop() takes it away. */

#include "rubricdir/manifest.h"

#include <linux/limits.h>

struct benchcache {
    char *path; /* owned; absolute */
    int fd;     /* -1: none */
    uint64_t max_bytes;
};

#define BENCHCACHE_NULL \
    {                   \
        .fd = -1        \
    }

/* Whether NAME may be that of a task class: one part of a path that hides nothing. */
bool benchcache_is_task_class(const char *name);

/* Opens the cache at PATH, and makes it if there is none. PATH may be NULL: the cache directory of
 * systemd ($CACHE_DIRECTORY), $XDG_CACHE_HOME/rubricd-fleet, or ~/.cache/rubricd-fleet. Negative
 * errno with FAULT; -EPERM: it is not ours, or others may write to it. */
int benchcache_open(const char *path, uint64_t max_bytes, struct benchcache *ret,
                    struct fault *fault);

/* Whether others may not enter the cache, or one of the directories that it is in, whose path then
 * is in RET_AT. Jobs may be unable to read what is there. */
bool benchcache_is_closed(const struct benchcache *cache, char ret_at[PATH_MAX]);

void benchcache_close(struct benchcache *cache);

/* Uses the directory of TASK_CLASS with DIGEST: it stays for as long as the returned descriptor is
 * open. Writes its bench root to RET_ROOT. -ENOENT: it is not here. */
int benchcache_use(const struct benchcache *cache, const char *digest, const char *task_class,
                   char ret_root[PATH_MAX]);

/* A directory that is being written. */
struct benchcache_writer {
    int fd;        /* -1: none; locked */
    char name[32]; /* in the cache */
};

#define BENCHCACHE_WRITER_NULL \
    {                          \
        .fd = -1               \
    }

/* Makes the cache again if its directory is gone. Negative errno. */
int benchcache_begin(struct benchcache *cache, struct benchcache_writer *ret);

/* Writes FILE, whose contents are the N bytes at DATA. The name has been checked, and the file is
 * new. Negative errno. */
int benchcache_write(const struct benchcache_writer *writer, const struct manifest_file *file,
                     const char *data, size_t n);

/* Gives the directory its name, and makes room. If somebody else has written it meanwhile, that is
 * as good; a copy that has no rubric any more is replaced. Negative errno. */
int benchcache_end(const struct benchcache *cache, struct benchcache_writer *writer,
                   const char *digest, const char *task_class);

/* Removes what was begun. Accepts a writer that has none. */
void benchcache_abandon(const struct benchcache *cache, struct benchcache_writer *writer);

/* Takes the directory with DIGEST, which TAKE_LOCK came from, out of the cache: it has changed. It
 * is renamed, and its files stay until nobody else has it locked. A fresh copy that has its place
 * by now stays. Closes TAKE_LOCK. */
void benchcache_drop(const struct benchcache *cache, const char *digest, int take_lock);
