/* SPDX-License-Identifier: MIT */
#pragma once
/* Tests that a client puts once for all of its jobs that have them (`put` in protocol.md): the
 * front stores them in the fleet's inputs by their digest. */

#include "bus.h"

#include <jansson.h>

struct frontputs;

/* Called with each answer to the client, with NULL if memory runs out for one. */
typedef void frontputs_answer(void *arg, json_t *take_message);

/* 0 or -ENOMEM. BUS outlives it. */
int frontputs_new(struct bus *bus, frontputs_answer *answer, void *arg, struct frontputs **ret);

/* Forgets the tests, and those that are being stored without an answer. Accepts NULL and returns
 * NULL. */
struct frontputs *frontputs_free(struct frontputs *puts);

/* Takes MESSAGE, a `put`, whose parts and size the local client bounds. Its last part is answered
 * when the tests are stored. An error about one part forgets the earlier ones of the same tests. */
void frontputs_take(struct frontputs *puts, const json_t *message);

/* Returns where the tests with DIGEST are in the inputs, borrowed until PUTS is freed; NULL: they
 * have not been put. */
const char *frontputs_ref(const struct frontputs *puts, const char *digest);
