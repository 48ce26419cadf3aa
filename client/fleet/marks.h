/* SPDX-License-Identifier: MIT */
#pragma once
/* The mark of a job: which workers have started it and have not said how it ended, on which of
 * them it has starved, and how often its rubric was not to be had. Pure.
 *
 * A mark is the last message of the job's subject in the stream of marks: a JSON object with the
 * sequence of the job's message in the queue, one entry for each start, and one for each time that
 * the job got no CPU. An entry names the worker, and the start by a nonce of its own.
 *
 * The queue may have several messages of a job, since a client took the run up with another
 * priority: a mark has a sequence for each priority, and its starts are those of all. A message
 * with another sequence than the mark has for its priority is of another submission, for which the
 * mark counts for nothing; whether the number is higher or lower says nothing, since a queue may be
 * made anew. A client that deletes a result, to have the job run again, has the mark begin anew. */

#include "proto/bytes.h"
#include "proto/fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A job that so many workers have started without an end is not started again. */
#define MARKS_STARTS_MAX 3
/* The answer counts when a job has starved so often. */
#define MARKS_STARVED_MAX 3

struct mark {
    json_t *messages;        /* object: sequence of the job's message by priority, "p10" */
    json_t *starts;          /* array; NULL, as the others: the mark has not been read */
    json_t *starved;         /* array */
    uint64_t without_rubric; /* hand-backs because its rubric was not to be had */
};

#define MARK_NULL       \
    {                   \
        .starts = NULL, \
    }

void mark_deinit(struct mark *mark);
#define _cleanup_mark_ _cleanup_(mark_deinit)

/* Reads the mark in the N bytes at TEXT for the job's message SEQ of PRIORITY. *RET, which the
 * caller frees, has that message alone and empty arrays if it is of another one, or if TEXT is no
 * mark. 0 or -ENOMEM. */
int marks_read(const char *text, size_t n, int64_t priority, uint64_t seq, struct mark *ret);

/* Returns how many starts the mark in the N bytes at TEXT has; 0: TEXT is no mark. */
size_t marks_count_starts(const char *text, size_t n);

/* The mark of a job that is to begin anew. */
#define MARKS_ANEW "{\"messages\":{},\"starts\":[]}"

/* Adds an entry with a NONCE of its own, by WORKER. 0 or -ENOMEM. */
int marks_add(json_t *entries, const char *worker, const char *nonce);

/* Returns the worker, or the nonce, of the entry at INDEX; "" if it has none. Borrowed. */
const char *marks_worker_at(const json_t *entries, size_t index);
const char *marks_nonce_at(const json_t *entries, size_t index);

/* Returns which entry has this NONCE, from 0; -ENOENT: none. */
int marks_find(const json_t *entries, const char *nonce);

/* Takes the entry with NONCE out. 0 or -ENOENT. */
int marks_remove(json_t *entries, const char *nonce);

/* Whether one of the entries is by WORKER. */
bool marks_has_worker(const json_t *entries, const char *worker);

/* Prints the mark. 0 or -ENOMEM. */
int marks_print(const struct mark *mark, struct bytes *ret);

/* Says why the job is not started again: "... started by a, b and c, and none of them said how it
 * ended". */
void marks_reason(const json_t *starts, char ret[FAULT_MAX]);
