/* SPDX-License-Identifier: MIT */
#include "puts.h"

#include "proto/fair.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

void put_set_init(struct put_set *set)
{
    *set = (struct put_set){.count = 0};
    TAILQ_INIT(&set->list);
}

static void drop(struct put_set *set, struct put *put)
{
    assert(set->count > 0 && set->bytes >= put->tests->size);
    TAILQ_REMOVE(&set->list, put, of_set);
    set->count--;
    set->bytes -= put->tests->size;
    *set->of_user -= put->tests->size;
    program_tests_unref(put->tests);
    free(put);
}

void put_set_deinit(struct put_set *set)
{
    while (!TAILQ_EMPTY(&set->list))
        drop(set, TAILQ_FIRST(&set->list));
}

static struct put *find(const struct put_set *set, const char *digest)
{
    struct put *put;
    TAILQ_FOREACH(put, &set->list, of_set)
    if (put->parts == 0 && strcmp(put->digest, digest) == 0)
        return put;
    return NULL;
}

/* The set that has come in part; NULL: there is none. */
static struct put *find_unfinished(const struct put_set *set)
{
    struct put *put;
    TAILQ_FOREACH(put, &set->list, of_set)
    if (put->parts > 0)
        return put;
    return NULL;
}

struct program_tests *put_set_find(struct put_set *set, const char *digest)
{
    struct put *put = find(set, digest);
    if (!put)
        return NULL;
    TAILQ_REMOVE(&set->list, put, of_set);
    TAILQ_INSERT_TAIL(&set->list, put, of_set);
    return put->tests;
}

/* Whether the user leaves enough for others. */
static bool is_fair(size_t size, const struct put_bounds *bounds)
{
    uint64_t used = *bounds->used;
    return fair_may_have(*bounds->of_user, size, bounds->total - MIN(used, bounds->total));
}

static bool has_room(const struct put_set *set, size_t size, const struct put_bounds *bounds)
{
    return set->count < PUTS_MAX && set->bytes + size <= bounds->per_client &&
           is_fair(size, bounds);
}

static bool is_in_use(const struct put *put)
{
    assert(put->tests);
    return put->tests->references > 1 || put->parts > 0;
}

/* Drops tests that no job uses until there is room for SIZE bytes; drops none if all of them would
 * not do. Returns whether there is room. */
static bool make_room(struct put_set *set, size_t size, const struct put_bounds *bounds)
{
    struct put_set rest = {.count = 0};
    size_t used = *bounds->used, of_user = *bounds->of_user;
    struct put_bounds then = *bounds;
    struct put *put, *next;
    TAILQ_FOREACH(put, &set->list, of_set)
    {
        rest.count += is_in_use(put);
        rest.bytes += is_in_use(put) ? put->tests->size : 0;
    }
    used -= set->bytes - rest.bytes;
    of_user -= set->bytes - rest.bytes;
    then.used = &used;
    then.of_user = &of_user;
    if (!has_room(&rest, size, &then))
        return false;
    for (put = TAILQ_FIRST(&set->list); put && !has_room(set, size, bounds); put = next) {
        next = TAILQ_NEXT(put, of_set);
        if (!is_in_use(put))
            drop(set, put);
    }
    return true;
}

/* Says why there is no room for SIZE bytes, which belong to tests of which BEFORE bytes are in the
 * set already. */
static int refuse(const struct put_set *set, size_t before, size_t size,
                  const struct put_bounds *bounds, enum error_code *ret_code, struct fault *fault)
{
    /* What other tests have, they may give back. */
    *ret_code = ERROR_INTERNAL;
    if (before + size > bounds->per_client) {
        *ret_code = ERROR_BAD_REQUEST;
        return fault_set(fault,
                         "tests: they take %zu bytes, more than %" PRIu64
                         " (put_bytes_per_client of [program])",
                         before + size, bounds->per_client);
    }
    size_t in_use = 0;
    const struct put *put;
    TAILQ_FOREACH(put, &set->list, of_set)
    in_use += is_in_use(put) ? put->tests->size : 0;
    if (set->count == PUTS_MAX || in_use + size > bounds->per_client)
        return fault_set(fault,
                         "tests: no room for %zu bytes among those that this connection's "
                         "unfinished jobs use, of %" PRIu64 " (put_bytes_per_client of [program])",
                         size, bounds->per_client);
    bool is_users = *bounds->used + size <= bounds->total;
    return fault_set(fault,
                     "tests: no room for %zu bytes: the clients%s together have %" PRIu64
                     " (put_bytes of [program])%s",
                     size, is_users ? " of this user" : "", bounds->total,
                     is_users ? ", and the rest is kept for other users" : "");
}

/* Adds TESTS, which fit; takes the reference. NULL with *ret_code and FAULT. */
static struct put *insert(struct put_set *set, const char *digest, struct program_tests *tests,
                          const struct put_bounds *bounds, enum error_code *ret_code,
                          struct fault *fault)
{
    struct put *put = calloc(1, sizeof(*put));
    if (!put) {
        *ret_code = ERROR_INTERNAL;
        (void)fault_set(fault, "out of memory");
        return NULL;
    }
    memcpy(put->digest, digest, sizeof(put->digest));
    put->tests = tests;
    tests->charged = bounds->used;
    *bounds->used += tests->size;
    set->of_user = bounds->of_user;
    *set->of_user += tests->size;
    set->count++;
    set->bytes += tests->size;
    TAILQ_INSERT_TAIL(&set->list, put, of_set);
    return put;
}

int put_set_add(struct put_set *set, const char *digest, struct program_tests *tests,
                const struct put_bounds *bounds, enum error_code *ret_code, struct fault *fault)
{
    if (put_set_find(set, digest)) {
        program_tests_unref(tests);
        return 0;
    }
    if (!make_room(set, tests->size, bounds))
        return refuse(set, 0, tests->size, bounds, ret_code, fault);
    return insert(set, digest, tests, bounds, ret_code, fault) ? 0 : -ENOMEM;
}

/* --- parts -------------------------------------------------------------------------------- */

static int wrong_part(const struct put *put, const struct put_part *part, enum error_code *ret_code,
                      struct fault *fault)
{
    *ret_code = ERROR_BAD_REQUEST;
    if (!put)
        return fault_set(fault, "part: %u of %u, but no part 1 of these tests came before it",
                         part->number, part->count);
    if (strcmp(put->digest, part->digest) != 0)
        return fault_set(fault, "digest: expected part %u of the tests %s, whose parts come first",
                         put->part + 1, put->digest);
    return fault_set(fault, "part: expected %u of %u, got %u of %u", put->part + 1, put->parts,
                     part->number, part->count);
}

/* Appends the tests of PART to those of PUT. */
static int append(struct put_set *set, struct put *put, struct program_tests *tests,
                  const struct put_bounds *bounds, enum error_code *ret_code, struct fault *fault)
{
    struct program_tests *all = put->tests;
    size_t before = all->size;
    *ret_code = ERROR_BAD_REQUEST;
    if (all->is_call != tests->is_call)
        return fault_set(fault, "tests: those of the parts before have %s",
                         all->is_call ? "args and expected" : "input and output");
    if (all->count + tests->count > PROGRAM_TESTS_MAX)
        return fault_set(fault, "tests: %zu in the parts so far, more than %d",
                         all->count + tests->count, PROGRAM_TESTS_MAX);
    if (!make_room(set, tests->size, bounds))
        return refuse(set, all->size, tests->size, bounds, ret_code, fault);
    if (program_tests_append(all, tests) < 0) {
        *ret_code = ERROR_INTERNAL;
        (void)fault_set(fault, "out of memory");
        return -ENOMEM;
    }
    set->bytes += all->size - before;
    *bounds->used += all->size - before;
    *set->of_user += all->size - before;
    return 0;
}

/* Makes PUT, which has all its parts, one that can be found. If the same tests are there already,
 * drops PUT in their favour: jobs may use them, and what is in use must count for its user. Returns
 * the tests, borrowed; NULL with *ret_code and FAULT: then PUT is dropped, too. */
static const struct program_tests *finish(struct put_set *set, struct put *put,
                                          enum error_code *ret_code, struct fault *fault)
{
    char found[PROGRAM_DIGEST_SIZE];
    program_digest_end(&put->sum, found);
    if (strcmp(found, put->digest) != 0) {
        *ret_code = ERROR_BAD_REQUEST;
        (void)program_digest_refuse(found, fault);
        drop(set, put);
        return NULL;
    }
    const struct program_tests *same = put_set_find(set, found);
    if (same) {
        drop(set, put);
        return same;
    }
    put->parts = 0;
    return put->tests;
}

/* Takes the first part of tests, whose client may begin again. NULL with *ret_code and FAULT. */
static struct put *begin(struct put_set *set, const struct put_part *part,
                         const struct put_bounds *bounds, enum error_code *ret_code,
                         struct fault *fault)
{
    struct put *put = find_unfinished(set);
    if (put)
        drop(set, put);
    if (!make_room(set, part->tests->size, bounds)) {
        (void)refuse(set, 0, part->tests->size, bounds, ret_code, fault);
        return NULL;
    }
    put = insert(set, part->digest, part->tests, bounds, ret_code, fault);
    if (!put)
        return NULL;
    put->parts = part->count;
    put->sum = (struct program_digest)PROGRAM_DIGEST_NULL;
    return put;
}

/* Takes another part. NULL with *ret_code and FAULT. */
static struct put *go_on(struct put_set *set, const struct put_part *part,
                         const struct put_bounds *bounds, enum error_code *ret_code,
                         struct fault *fault)
{
    struct put *put = find_unfinished(set);
    if (!put || strcmp(put->digest, part->digest) != 0 || part->number != put->part + 1 ||
        part->count != put->parts) {
        (void)wrong_part(put, part, ret_code, fault);
        return NULL;
    }
    return append(set, put, part->tests, bounds, ret_code, fault) < 0 ? NULL : put;
}

int put_set_add_part(struct put_set *set, const struct put_part *part,
                     const struct put_bounds *bounds, const struct program_tests **ret,
                     enum error_code *ret_code, struct fault *fault)
{
    struct put *put = part->number == 1 ? begin(set, part, bounds, ret_code, fault)
                                        : go_on(set, part, bounds, ret_code, fault);
    if (!put) {
        program_tests_unref(part->tests);
        put = find_unfinished(set);
        if (put)
            drop(set, put);
        return -EINVAL;
    }
    put->part = part->number;
    program_digest_add(&put->sum, part->text);
    const struct program_tests *kept =
        put->part < put->parts ? put->tests : finish(set, put, ret_code, fault);
    if (!kept)
        return -EINVAL;
    *ret = kept;
    return 0;
}
