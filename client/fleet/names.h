/* SPDX-License-Identifier: MIT */
#pragma once
/* The names of a fleet at the NATS server: its streams, its subjects, the tokens in them. Pure.
 *
 * The id of a job is one token of a subject: letters, digits, `_` and `-` stay, every other byte
 * becomes %XX, so that the id can be read back. */

#include "proto/bytes.h"
#include "proto/fault.h"

#include <stdbool.h>
#include <stdint.h>

#define NAMES_FLEET_MAX 32
#define NAMES_RUN_MAX 64
/* The runs of `fleet serve` begin so, and no others. */
#define NAMES_SERVE_HEAD "serve-"
/* An id has at most 128 bytes, each of them at most three here. */
#define NAMES_TOKEN_MAX 384
/* The longest subject, with its NUL. */
#define NAMES_SUBJECT_SIZE (NAMES_FLEET_MAX + NAMES_RUN_MAX + NAMES_TOKEN_MAX + 40)

#define NAMES_PRIORITY_MIN (-10)
#define NAMES_PRIORITY_MAX 10

enum fleet_stream {
    STREAM_JOBS,
    STREAM_RESULTS,
    STREAM_MARKS,
    STREAM_INPUTS,
    STREAM_DEAD,
    STREAM_HOSTS,
    FLEET_STREAMS,
};

/* Returns "jobs", "results", ...: the second token of the stream's subjects. */
const char *names_kind(enum fleet_stream stream);

/* Checks the name of a fleet, a run or a worker: letters, digits, `_` and `-`, at most MAX. WHAT
 * names it in FAULT. 0 or -EINVAL. */
int names_check(const char *what, const char *name, size_t max, struct fault *fault);

/* Writes "FLEET-jobs": the name of a stream. */
void names_stream(const char *fleet, enum fleet_stream stream, char ret[NAMES_SUBJECT_SIZE]);

/* Writes "FLEET.jobs.>": all subjects of a stream. */
void names_all(const char *fleet, enum fleet_stream stream, char ret[NAMES_SUBJECT_SIZE]);

/* Writes the token of an id of N bytes. */
void names_token(const char *id, size_t n, char ret[NAMES_TOKEN_MAX + 1]);

/* Reads the id back. -EINVAL if TOKEN is not one that names_token() writes; -ENOMEM. */
int names_id(const char *token, struct bytes *ret);

#define NAMES_QUEUE_SIZE 24
/* Writes "p10", the token of PRIORITY 0. */
void names_queue(int64_t priority, char ret[NAMES_QUEUE_SIZE]);

/* Writes "FLEET.jobs.RUN.p10.TOKEN"; PRIORITY is that of the job, and 0 is p10. */
void names_job(const char *fleet, const char *run, int64_t priority, const char *token,
               char ret[NAMES_SUBJECT_SIZE]);

/* Writes "FLEET.KIND.RUN.TOKEN" for results, marks and dead letters. */
void names_of_run(const char *fleet, enum fleet_stream stream, const char *run, const char *token,
                  char ret[NAMES_SUBJECT_SIZE]);

/* Writes "RUN-p10": the consumer of the jobs of a run with PRIORITY. */
void names_consumer(const char *run, int64_t priority, char ret[NAMES_SUBJECT_SIZE]);

/* Writes the request that has the server make that consumer: of the jobs of RUN with PRIORITY, for
 * daemons whose isolation is DIGEST. Returns its length; RET needs 2 * NAMES_SUBJECT_SIZE bytes. */
size_t names_consumer_config(const char *fleet, const char *run, int64_t priority,
                             const char *digest, int64_t ack_wait_s, char *ret, size_t size);

/* The parts of a job's subject. */
struct names_job {
    char run[NAMES_RUN_MAX + 1];
    int64_t priority;
    char token[NAMES_TOKEN_MAX + 1];
};

/* Takes the subject of a job apart. Returns whether it is one. */
bool names_read_job(const char *fleet, const char *subject, struct names_job *ret);

/* Takes the name of a consumer apart. Returns whether it is one. */
bool names_read_consumer(const char *name, char ret_run[NAMES_RUN_MAX + 1], int64_t *ret_priority);

/* Returns the last token of SUBJECT, borrowed. */
const char *names_last(const char *subject);
