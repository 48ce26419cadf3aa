/* SPDX-License-Identifier: MIT */
#pragma once
/* The tests that a connection has put, for its jobs to name by their digests. They are in the order
 * of their last use. Those that no unfinished job uses make room for new ones, the least recently
 * used first: a client puts them again if it still needs them.
 *
 * A set that comes in parts is among them from its first part on, and counts, but cannot be found
 * before it is whole. There is one such set at most. */

#include "proto/program_tests.h"
#include "proto/reply.h"

#include <sys/queue.h>

/* Sets of tests that one connection has at most. */
#define PUTS_MAX 1024

struct put {
    char digest[PROGRAM_DIGEST_SIZE];
    struct program_tests *tests; /* a reference */
    unsigned part, parts;        /* how many came of how many; 0: it is whole */
    struct program_digest sum;   /* of the parts so far */
    TAILQ_ENTRY(put) of_set;
};

TAILQ_HEAD(put_list, put);

struct put_set {
    struct put_list list; /* the least recently used first */
    size_t count, bytes;
    size_t *of_user; /* as in the bounds; NULL: there was nothing yet */
};

struct put_bounds {
    uint64_t per_client, total; /* bytes */
    size_t *used; /* bytes of all connections' tests; borrowed until those are freed */
    size_t
        *of_user; /* bytes in the sets of this user's connections; borrowed until those are gone */
};

void put_set_init(struct put_set *set);

/* Drops all of them. Jobs keep theirs. */
void put_set_deinit(struct put_set *set);

/* Adds TESTS, a reference that is taken on success, under DIGEST; does nothing if they are there.
 * 0; or negative with *ret_code and FAULT: there is no room for them. */
int put_set_add(struct put_set *set, const char *digest, struct program_tests *tests,
                const struct put_bounds *bounds, enum error_code *ret_code, struct fault *fault);

/* A part of tests, and their compact JSON. */
struct put_part {
    const char *digest; /* of the whole */
    unsigned number, count;
    struct program_tests *tests; /* a reference, which is taken */
    const struct bytes *text;
};

/* Adds PART to those that came before it; after the last one,
 * checks the digest. Sets *ret to all that is there so far: borrowed until the next change. 0; or
 * negative with *ret_code and FAULT: then the parts before are gone, too. */
int put_set_add_part(struct put_set *set, const struct put_part *part,
                     const struct put_bounds *bounds, const struct program_tests **ret,
                     enum error_code *ret_code, struct fault *fault);

/* The tests with DIGEST, borrowed; NULL: there are none. */
struct program_tests *put_set_find(struct put_set *set, const char *digest);
