/* SPDX-License-Identifier: MIT */
#include "puts.h"

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
    if (strcmp(put->digest, digest) == 0)
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
    uint64_t used = *bounds->used + size;
    return used <= bounds->total &&
           (*bounds->of_user + size) / PUTS_PER_FREE <= bounds->total - used;
}

static bool has_room(const struct put_set *set, size_t size, const struct put_bounds *bounds)
{
    return set->count < PUTS_MAX && set->bytes + size <= bounds->per_client &&
           is_fair(size, bounds);
}

static bool is_in_use(const struct put *put)
{
    assert(put->tests);
    return put->tests->references > 1;
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

static int refuse(const struct put_set *set, size_t size, const struct put_bounds *bounds,
                  enum error_code *ret_code, struct fault *fault)
{
    /* What other tests have, they may give back. */
    *ret_code = ERROR_INTERNAL;
    if (size > bounds->per_client) {
        *ret_code = ERROR_BAD_REQUEST;
        return fault_set(fault,
                         "tests: they take %zu bytes, more than %" PRIu64
                         " (put_bytes_per_client of [program])",
                         size, bounds->per_client);
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

int put_set_add(struct put_set *set, const char *digest, struct program_tests *tests,
                const struct put_bounds *bounds, enum error_code *ret_code, struct fault *fault)
{
    if (put_set_find(set, digest)) {
        program_tests_unref(tests);
        return 0;
    }
    if (!make_room(set, tests->size, bounds))
        return refuse(set, tests->size, bounds, ret_code, fault);
    struct put *put = calloc(1, sizeof(*put));
    if (!put) {
        *ret_code = ERROR_INTERNAL;
        (void)fault_set(fault, "out of memory");
        return -ENOMEM;
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
    return 0;
}
