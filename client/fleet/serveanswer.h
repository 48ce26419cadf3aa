/* SPDX-License-Identifier: MIT */
#pragma once
/* Ids on their way through `fleet serve`. The fleet knows a job by its number here and, for people,
 * by what the client calls it: so two clients may use the same id, and one client may use it again.
 * Pure. */

#include "proto/bytes.h"

#include <jansson.h>
#include <stdint.h>

/* With its NUL: an id has at most 128 bytes. */
#define SERVEANSWER_ID_SIZE 129

/* Writes the id by which the fleet knows the job NUMBER that its client calls ID: "17-capital/17",
 * cut at a whole character. Returns its length. */
size_t serveanswer_fleet_id(uint64_t number, const struct bytes *id, char ret[SERVEANSWER_ID_SIZE]);

/* Returns the number in the token of such an id. */
uint64_t serveanswer_number(const char *token);

/* Makes the answer for the client of TEXT, the answer of a worker to the job: with the client's id,
 * and with NUMBER in place of the daemon's. 0; -ENOMEM; -EBADMSG if TEXT is no answer. */
int serveanswer_restore(const struct bytes *text, uint64_t number, const struct bytes *id,
                        struct bytes *ret);

/* Returns what was wrong with the job that ANSWER, made as above, is about: the code of an error or
 * of the first failure mode; NULL if it has passed or has no score. *RET_OWNER, which the caller
 * frees, has the word. */
const char *serveanswer_failure(const struct bytes *answer, json_t **ret_owner);
