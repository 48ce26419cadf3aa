/* SPDX-License-Identifier: MIT */
#pragma once
/* The mark of a job: which workers have started it and have not said how it ended. Pure.
 *
 * A mark is the last message of the job's subject in the stream of marks: a JSON object with the
 * sequence of the job's message in the queue and one entry for each start. A mark of another
 * sequence is of an earlier submission of the job, and counts for nothing. */

#include "proto/bytes.h"
#include "proto/fault.h"

#include <jansson.h>
#include <stdint.h>

/* A job that so many workers have started without an end is not started again. */
#define MARKS_STARTS_MAX 3

/* Reads the starts of the mark in the N bytes at TEXT, if it is of the job's message SEQ. *RET is
 * an array, empty if it is not, or if TEXT is no mark. 0 or -ENOMEM. */
int marks_read(const char *text, size_t n, uint64_t seq, json_t **ret);

/* Adds a start with a NONCE of its own, by WORKER. 0 or -ENOMEM. */
int marks_add(json_t *starts, const char *worker, const char *nonce);

/* Returns which start has this NONCE, from 0; -ENOENT: none. */
int marks_find(const json_t *starts, const char *nonce);

/* Takes the start with NONCE out. 0 or -ENOENT. */
int marks_remove(json_t *starts, const char *nonce);

/* Prints the mark. 0 or -ENOMEM. */
int marks_print(uint64_t seq, const json_t *starts, struct bytes *ret);

/* Says why the job is not started again: "... started by a, b and c, and none of them said how it
 * ended". */
void marks_reason(const json_t *starts, char ret[FAULT_MAX]);
