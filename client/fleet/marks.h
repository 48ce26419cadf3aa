/* SPDX-License-Identifier: MIT */
#pragma once
/* The mark of a job: which workers have started it and have not said how it ended, on which of
 * them it has starved, and how often its rubric was not to be had. Pure.
 *
 * A mark is the last message of the job's subject in the stream of marks: a JSON object with the
 * sequence of the job's message in the queue, one entry for each start, and one for each time that
 * the job got no CPU. A mark of a lower sequence is of an earlier submission of the job, and counts
 * for nothing. One of a higher sequence counts: the queue has two messages of the job, since a
 * client took the run up with another priority, and its starts are those of both. An entry names
 * the worker, and the start by a nonce of its own. */

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
    uint64_t seq;            /* of the job's message, or of the latest one if there are two */
    json_t *starts;          /* array; NULL: the mark has not been read */
    json_t *starved;         /* array, NULL where the other one is */
    uint64_t without_rubric; /* hand-backs because its rubric was not to be had */
};

#define MARK_NULL       \
    {                   \
        .starts = NULL, \
    }

void mark_deinit(struct mark *mark);
#define _cleanup_mark_ _cleanup_(mark_deinit)

/* Reads the mark in the N bytes at TEXT, if it is of the job's message SEQ or of a later one. *RET,
 * which the caller frees, has SEQ and empty arrays if it is not, or if TEXT is no mark. 0 or
 * -ENOMEM. */
int marks_read(const char *text, size_t n, uint64_t seq, struct mark *ret);

/* Adds an entry with a NONCE of its own, by WORKER. 0 or -ENOMEM. */
int marks_add(json_t *entries, const char *worker, const char *nonce);

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
