/* SPDX-License-Identifier: MIT */
#pragma once
/* Tests that a client puts once for all of its jobs that have them (`put` in protocol.md): the
 * front stores them in the fleet's inputs by their digest. */

#include "bus.h"

#include <jansson.h>

struct frontputs;

/* Called with each answer to the client. */
typedef void frontputs_answer(void *arg, json_t *take_message);

/* 0 or -ENOMEM. */
int frontputs_new(struct bus *bus, frontputs_answer *answer, void *arg, struct frontputs **ret);
struct frontputs *frontputs_free(struct frontputs *puts);

/* Takes a `put`. Its last part is answered when the tests are stored. */
void frontputs_take(struct frontputs *puts, const json_t *message);

/* Returns where the tests with DIGEST are in the inputs, borrowed; NULL: they have not been put. */
const char *frontputs_ref(const struct frontputs *puts, const char *digest);
