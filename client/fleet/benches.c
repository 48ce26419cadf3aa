/* SPDX-License-Identifier: MIT */
#include "benches.h"

#include "client/terminal/text.h"

#include <string.h>

/* Directories that could not be had are remembered, so many and so long. */
#define MISSING_MAX 16
#define MISSING_MS 5000

/* A directory that is being fetched. */
struct fetch {
    struct benches *benches;
    char digest[RUBRICDIR_DIGEST_SIZE];
    char *task_class;
    struct manifest manifest;
    size_t at; /* the file that is being fetched */
    struct benchcache_writer writer;
    struct blob *blob;
    LIST_HEAD(, bench_wait) waits;
    LIST_ENTRY(fetch) link;
};

/* A directory that could not be had: so many jobs may want it that asking for each takes long. */
struct missing {
    char digest[RUBRICDIR_DIGEST_SIZE];
    char why[FAULT_MAX];
    bool is_local;
    int64_t until_ms;
};

struct benches {
    struct bus *bus;
    struct benchcache cache;
    struct missing missing[MISSING_MAX];
    size_t next_missing;
    LIST_HEAD(, fetch) fetches;
};

/* CACHE is taken over. 0 or -ENOMEM. */
static int benches_new(struct bus *bus, struct benchcache *take_cache, struct benches **ret)
{
    struct benches *benches = calloc(1, sizeof(*benches));
    if (!benches)
        return -ENOMEM;
    benches->bus = bus;
    benches->cache = TAKE_STRUCT(*take_cache, BENCHCACHE_NULL);
    LIST_INIT(&benches->fetches);
    *ret = benches;
    return 0;
}

static void fetch_free(struct fetch *fetch)
{
    LIST_REMOVE(fetch, link);
    (void)blob_free(fetch->blob);
    benchcache_abandon(&fetch->benches->cache, &fetch->writer);
    manifest_deinit(&fetch->manifest);
    free(fetch->task_class);
    free(fetch);
}

struct benches *benches_free(struct benches *benches)
{
    while (benches && !LIST_EMPTY(&benches->fetches)) {
        struct fetch *fetch = LIST_FIRST(&benches->fetches);
        while (!LIST_EMPTY(&fetch->waits))
            benches_forget(LIST_FIRST(&fetch->waits));
        fetch_free(fetch);
    }
    if (benches)
        benchcache_close(&benches->cache);
    free(benches);
    return NULL;
}

int benches_use(const struct benches *benches, const char *digest, const char *task_class,
                char ret_root[PATH_MAX])
{
    return benchcache_use(&benches->cache, digest, task_class, ret_root);
}

void benches_drop(const struct benches *benches, const char *digest, int take_lock)
{
    benchcache_drop(&benches->cache, digest, take_lock);
}

void benches_forget(struct bench_wait *wait)
{
    if (!wait->is_waiting)
        return;
    LIST_REMOVE(wait, link);
    wait->is_waiting = false;
}

/* --- one directory ------------------------------------------------------------------------ */

static void note_missing(struct benches *benches, const char *digest, const char *why,
                         bool is_local)
{
    struct missing *missing = &benches->missing[benches->next_missing++ % MISSING_MAX];
    missing->is_local = is_local;
    missing->until_ms = monotonic_ms() + MISSING_MS;
    (void)snprintf(missing->digest, sizeof(missing->digest), "%s", digest);
    (void)snprintf(missing->why, sizeof(missing->why), "%s", why);
}

/* Returns that the directory could not be had a moment ago; NULL: nobody has asked. */
static const struct missing *find_missing(const struct benches *benches, const char *digest)
{
    for (size_t i = 0; i < MISSING_MAX; i++)
        if (strcmp(benches->missing[i].digest, digest) == 0 &&
            monotonic_ms() < benches->missing[i].until_ms)
            return &benches->missing[i];
    return NULL;
}

/* Tells all who wait, one of whom may ask for it again. */
static void finish(struct fetch *fetch, const char *why, bool is_local)
{
    LIST_HEAD(, bench_wait) waits;
    LIST_INIT(&waits);
    if (why)
        note_missing(fetch->benches, fetch->digest, why, is_local);
    while (!LIST_EMPTY(&fetch->waits)) {
        struct bench_wait *wait = LIST_FIRST(&fetch->waits);
        LIST_REMOVE(wait, link);
        LIST_INSERT_HEAD(&waits, wait, link);
    }
    fetch_free(fetch);
    while (!LIST_EMPTY(&waits)) {
        struct bench_wait *wait = LIST_FIRST(&waits);
        benches_forget(wait);
        wait->done(wait, why, is_local);
    }
}

/* The cache cannot hold it. */
static void fail(struct fetch *fetch, const char *name, int error)
{
    char why[PATH_MAX + 128];
    (void)snprintf(why, sizeof(why), "%s/%s: %s", fetch->benches->cache.path, name,
                   strerror(error));
    finish(fetch, why, true);
}

static void fetch_next(struct fetch *fetch);

static void on_file(void *arg, struct bytes *text, const char *why)
{
    struct fetch *fetch = arg;
    const struct manifest_file *file = &fetch->manifest.files[fetch->at];
    char whole[FAULT_MAX];
    fetch->blob = blob_free(fetch->blob);
    if (why || text->length != file->size) {
        (void)snprintf(whole, sizeof(whole), "%s: %s", file->name,
                       why ? why : "it has not the size that it should have");
        finish(fetch, whole, false);
        return;
    }
    int r = benchcache_write(&fetch->writer, file, text->data, text->length);
    if (r < 0) {
        fail(fetch, file->name, -r);
        return;
    }
    fetch->at++;
    fetch_next(fetch);
}

/* Fetches the next file that is not empty; ends after the last one. */
static void fetch_next(struct fetch *fetch)
{
    int r = 0;
    for (; r == 0 && fetch->at < fetch->manifest.n; fetch->at++) {
        const struct manifest_file *file = &fetch->manifest.files[fetch->at];
        char ref[BLOBS_REF_SIZE];
        if (file->size == 0) {
            r = benchcache_write(&fetch->writer, file, "", 0);
            continue;
        }
        blobs_ref(NULL, file->size, file->digest, ref);
        fetch->blob = blob_down(fetch->benches->bus, ref, on_file, fetch);
        if (!fetch->blob)
            finish(fetch, "out of memory", true);
        return;
    }
    if (r == 0)
        r = benchcache_end(&fetch->benches->cache, &fetch->writer, fetch->digest,
                           fetch->task_class);
    if (r < 0)
        fail(fetch, fetch->digest, -r);
    else
        finish(fetch, NULL, false);
}

static void on_manifest(void *arg, struct bytes *text, const char *why)
{
    struct fetch *fetch = arg;
    struct fault fault = FAULT_NULL;
    fetch->blob = blob_free(fetch->blob);
    if (why) {
        finish(fetch, why, false);
        return;
    }
    int r = manifest_parse(text->data, text->length, &fetch->manifest, &fault);
    if (r < 0) {
        finish(fetch, *fault.text ? fault.text : strerror(-r), r == -ENOMEM);
        return;
    }
    r = benchcache_begin(&fetch->benches->cache, &fetch->writer);
    if (r < 0)
        fail(fetch, "", -r);
    else
        fetch_next(fetch);
}

static struct fetch *begin(struct benches *benches, const char *digest, const char *task_class)
{
    char ref[BLOBS_REF_SIZE];
    struct fetch *fetch = calloc(1, sizeof(*fetch));
    if (!fetch)
        return NULL;
    fetch->benches = benches;
    fetch->writer = (struct benchcache_writer)BENCHCACHE_WRITER_NULL;
    fetch->task_class = strdup(task_class);
    (void)snprintf(fetch->digest, sizeof(fetch->digest), "%s", digest);
    (void)snprintf(ref, sizeof(ref), "%s 1", digest);
    LIST_INIT(&fetch->waits);
    LIST_INSERT_HEAD(&benches->fetches, fetch, link);
    fetch->blob = fetch->task_class ? blob_down(benches->bus, ref, on_manifest, fetch) : NULL;
    if (fetch->blob)
        return fetch;
    fetch_free(fetch);
    return NULL;
}

void benches_fetch(struct benches *benches, const char *digest, const char *task_class,
                   struct bench_wait *wait)
{
    const struct missing *missing = find_missing(benches, digest);
    struct fetch *fetch;
    if (missing) {
        wait->done(wait, missing->why, missing->is_local);
        return;
    }
    LIST_FOREACH(fetch, &benches->fetches, link)
    if (strcmp(fetch->digest, digest) == 0 && strcmp(fetch->task_class, task_class) == 0)
        break;
    if (!fetch)
        fetch = begin(benches, digest, task_class);
    if (!fetch) {
        wait->done(wait, "out of memory", true);
        return;
    }
    wait->is_waiting = true;
    LIST_INSERT_HEAD(&fetch->waits, wait, link);
}

int benches_open(struct bus *bus, const char *path, long mib, struct benches **ret,
                 struct fault *fault)
{
    char closed[PATH_MAX];
    struct benchcache cache = BENCHCACHE_NULL;
    uint64_t bytes = (uint64_t)(mib ? mib : BENCHES_MIB_DEFAULT) << 20;
    int r = benchcache_open(path, bytes, &cache, fault);
    if (r < 0 && path)
        return r;
    if (r < 0) {
        complain("no cache for rubrics: %s; only those that this host has can run", fault->text);
        fault->text[0] = '\0';
        return 0;
    }
    if (benchcache_is_closed(&cache, closed))
        complain("%s may not be entered by other accounts, so that jobs may be unable to read the "
                 "rubrics in %s: chmod o+x it, or name another cache with --cache",
                 closed, cache.path);
    r = benches_new(bus, &cache, ret);
    benchcache_close(&cache);
    return r;
}
