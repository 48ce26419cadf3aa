/* SPDX-License-Identifier: MIT */
#pragma once
/* The rubrics of a worker's host: those in its cache, and those that it fetches from the fleet.
 *
 * A rubric's directory is in the stream of inputs as the list of its files (rubricdir/manifest.h),
 * under the SHA-256 of that list, which is the directory's digest, and each file under its own.
 * So whoever knows the digest finds everything and can check everything. */

#include "benchcache.h"
#include "blobs.h"

#include <sys/queue.h>

struct benches;

/* Embedded in what waits for a rubric. */
struct bench_wait {
    /* WHY is NULL if the cache has it now. IS_LOCAL: this host is why, not the fleet. */
    void (*done)(struct bench_wait *wait, const char *why, bool is_local);
    bool is_waiting;
    LIST_ENTRY(bench_wait) link;
};

#define BENCHES_MIB_DEFAULT 1024

/* Opens the cache at PATH (NULL: the usual place) of MIB mebibytes (0: the default). If the usual
 * place cannot be used it says so, and *RET stays NULL: the host runs the rubrics that it has. 0 or
 * a negative errno with FAULT. */
int benches_open(struct bus *bus, const char *path, long mib, struct benches **ret,
                 struct fault *fault);

/* Calls nobody. Accepts NULL and returns NULL. */
struct benches *benches_free(struct benches *benches);

/* As benchcache_use(). */
int benches_use(const struct benches *benches, const char *digest, const char *task_class,
                char ret_root[PATH_MAX]);

/* As benchcache_drop(), for what the daemon says has changed. */
void benches_drop(const struct benches *benches, const char *digest, int take_lock);

/* Fetches the directory with DIGEST for TASK_CLASS, once for all who wait. WAIT->done is called
 * later, or at once if nothing can be begun or it could not be had a moment ago. */
void benches_fetch(struct benches *benches, const char *digest, const char *task_class,
                   struct bench_wait *wait);

/* Does not call WAIT any more. */
void benches_forget(struct bench_wait *wait);
