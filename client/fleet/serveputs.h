/* SPDX-License-Identifier: MIT */
#pragma once
/* Tests that a client of `fleet serve` puts for its jobs: they go into the fleet's inputs, as the
 * client wrote them, and only where they are is kept here. */

#include "bus.h"

#include "proto/reply.h"
#include "proto/request.h"

#include <jansson.h>

/* Shared by all clients: the bytes of tests that are not stored yet. */
struct serveputs_load {
    size_t bytes;
};

struct serveputs;

/* Answers a `put`: with ANSWER, which is taken, or, if that is NULL, with the error CODE that WHY
 * explains. ID may be NULL. */
typedef void serveputs_answer(void *arg, json_t *take_answer, const struct bytes *id,
                              enum error_code code, const char *why);

/* 0 or -ENOMEM. LOAD outlives it. */
int serveputs_new(struct bus *bus, struct serveputs_load *load, serveputs_answer *answer, void *arg,
                  struct serveputs **ret);

/* Forgets the tests. Accepts NULL and returns NULL. */
struct serveputs *serveputs_free(struct serveputs *puts);

/* Takes REQUEST, a `put` whose tests are *TAKE_TEXT, compact and otherwise as they came. */
void serveputs_take(struct serveputs *puts, const struct request *request, struct bytes *take_text);

/* Returns where the tests with DIGEST are in the inputs, borrowed; NULL: they have not been put. */
const char *serveputs_ref(const struct serveputs *puts, const char *digest);
