/* SPDX-License-Identifier: MIT */
#include "frontbenches.h"

#include "benchcache.h"
#include "benchpush.h"

#include "client/terminal/text.h"
#include "proto/jobkinds.h"
#include "rubricdir/digests.h"

#include <fcntl.h>
#include <string.h>
#include <sys/queue.h>

/* A directory that is being stored. */
struct storing {
    struct frontbenches *benches;
    char name[FRONTBENCHES_NAME_SIZE];
    struct benchpush *push;
    LIST_ENTRY(storing) link;
};

struct frontbenches {
    struct bus *bus;
    frontbenches_ready *ready;
    void *arg;
    struct digests *digests;
    json_t *pushed;  /* a set: the names that were stored, or are being stored */
    json_t *unknown; /* a set: "ROOT/TASK_CLASS" that have no digest, of which we have told */
    LIST_HEAD(, storing) storings;
};

int frontbenches_new(struct bus *bus, frontbenches_ready *ready, void *arg,
                     struct frontbenches **ret)
{
    struct frontbenches *benches = calloc(1, sizeof(*benches));
    if (!benches)
        return -ENOMEM;
    *benches = (struct frontbenches){.bus = bus, .ready = ready, .arg = arg};
    LIST_INIT(&benches->storings);
    benches->pushed = json_object();
    benches->unknown = json_object();
    if (digests_new(&benches->digests) < 0 || !benches->pushed || !benches->unknown) {
        (void)frontbenches_free(benches);
        return -ENOMEM;
    }
    *ret = benches;
    return 0;
}

static void storing_free(struct storing *storing)
{
    LIST_REMOVE(storing, link);
    (void)benchpush_free(storing->push);
    free(storing);
}

struct frontbenches *frontbenches_free(struct frontbenches *benches)
{
    if (!benches)
        return NULL;
    while (!LIST_EMPTY(&benches->storings))
        storing_free(LIST_FIRST(&benches->storings));
    benches->digests = digests_free(benches->digests);
    json_decref(benches->pushed);
    json_decref(benches->unknown);
    free(benches);
    return NULL;
}

/* --- storing ------------------------------------------------------------------------------ */

/* A host may have what the fleet cannot have: the jobs go on either way. */
static void on_pushed(void *arg, const char *why)
{
    struct storing *storing = arg;
    struct frontbenches *benches = storing->benches;
    char name[FRONTBENCHES_NAME_SIZE];
    (void)snprintf(name, sizeof(name), "%s", storing->name);
    if (why)
        complain("the rubric of %s is not stored in the fleet: %s", strchr(name, ' ') + 1, why);
    storing_free(storing);
    benches->ready(benches->arg, name);
}

/* Begins to store the directory at PLACE unless that was done. */
static void push(struct frontbenches *benches, const struct tree_place *place, const char *name)
{
    struct fault fault = FAULT_NULL;
    if (json_object_get(benches->pushed, name))
        return;
    (void)json_object_set_new(benches->pushed, name, json_true());
    struct storing *storing = calloc(1, sizeof(*storing));
    if (!storing)
        return;
    storing->benches = benches;
    (void)snprintf(storing->name, sizeof(storing->name), "%s", name);
    int r = benchpush_new(benches->bus, place, on_pushed, storing, &storing->push, &fault);
    if (r < 0) {
        complain("the rubric of %s is not stored in the fleet: %s", place->name,
                 *fault.text ? fault.text : strerror(-r));
        free(storing);
        return;
    }
    LIST_INSERT_HEAD(&benches->storings, storing, link);
    benchpush_go_on(storing->push);
}

bool frontbenches_is_ready(const struct frontbenches *benches, const char *name)
{
    const struct storing *storing;
    LIST_FOREACH(storing, &benches->storings, link)
    if (strcmp(storing->name, name) == 0)
        return false;
    return true;
}

/* --- naming ------------------------------------------------------------------------------- */

static const char *text_of(const json_t *fields, const char *name)
{
    return json_string_value(json_object_get(fields, name));
}

/* Says once that a rubric is there and has no digest. */
static void tell(struct frontbenches *benches, const char *path, const char *task_class,
                 const char *why)
{
    char key[PATH_MAX + 256];
    (void)snprintf(key, sizeof(key), "%s/%s", path, task_class);
    if (json_object_get(benches->unknown, key))
        return;
    (void)json_object_set_new(benches->unknown, key, json_true());
    complain("%s has no digest (%s): each host needs this rubric at that place, and the hosts' are "
             "not compared",
             key, why);
}

/* Finds the digest of the job's directory, and stores that if the job wants no other one. */
static void look(struct frontbenches *benches, const char *path, const char *task_class,
                 const char *wanted, char ret[RUBRICDIR_DIGEST_SIZE])
{
    struct rubric_digest digest = {.why = ""};
    char name[FRONTBENCHES_NAME_SIZE];
    _cleanup_close_ int root = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    const struct tree_place place = {root, task_class};
    _cleanup_close_ int rubric = root < 0 ? -1 : tree_open(&place, "rubric.py", O_PATH);
    if (rubric >= 0)
        digests_look(benches->digests, path, &place, 0, UINT64_MAX, &digest);
    if (*digest.why)
        tell(benches, path, task_class, digest.why);
    (void)snprintf(ret, RUBRICDIR_DIGEST_SIZE, "%s", wanted ? wanted : digest.hex);
    if (!*digest.hex || strcmp(ret, digest.hex) != 0)
        return;
    (void)snprintf(name, sizeof(name), "%s %s", digest.hex, task_class);
    push(benches, &place, name);
}

json_t *frontbenches_name(struct frontbenches *benches, const json_t *fields,
                          char ret_name[FRONTBENCHES_NAME_SIZE])
{
    const char *kind = text_of(fields, "kind"), *task_class = text_of(fields, "task_class"),
               *wanted = text_of(fields, "rubric_digest");
    char digest[RUBRICDIR_DIGEST_SIZE];
    ret_name[0] = '\0';
    /* What is wrong with a job the daemon says. */
    if (!kind || strcmp(kind, job_kind_name(JOB_RUBRIC)) != 0 || !task_class ||
        !benchcache_is_task_class(task_class) || (wanted && !manifest_is_digest(wanted)))
        return json_incref((json_t *)(uintptr_t)fields);
    look(benches, text_of(fields, "bench_root"), task_class, wanted, digest);
    if (!*digest)
        return json_incref((json_t *)(uintptr_t)fields);
    (void)snprintf(ret_name, FRONTBENCHES_NAME_SIZE, "%s %s", digest, task_class);
    json_t *named = json_copy((json_t *)(uintptr_t)fields);
    if (named && json_object_set_new(named, "rubric_digest", json_string(digest)) < 0) {
        json_decref(named);
        return NULL;
    }
    return named;
}
