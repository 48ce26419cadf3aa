/* SPDX-License-Identifier: MIT */
#pragma once
/* What a task has to do with the directory of its rubric.
 *
 * Theory of operation. A job that names a digest is given the copy in the cache if that is there,
 * and else runs as it is: the host may have the bench where the job says. If the daemon answers
 * that it does not, the directory is fetched and the job runs again with the copy. If the daemon
 * says of the copy that it has another digest, somebody has changed it; it is fetched once more. */

#include "benches.h"

#include "client/connection/message.h"

/* A job whose rubric is not to be had is handed back with this verb, for another host to try it a
 * little later (nanoseconds), until that has happened so often, this time among them. */
#define TASKBENCH_BACK "-NAK {\"delay\":500000000}"
#define TASKBENCH_TRIES_MAX 20

struct taskbench {
    struct benches *benches; /* borrowed; NULL: this worker has no cache */
    char digest[RUBRICDIR_DIGEST_SIZE];
    char *task_class; /* NULL: the job names no digest */
    int lock;         /* on the cached directory; -1: the job runs as it is */
    unsigned fetched; /* how often */
    struct bench_wait wait;
};

/* Takes what NAME says, the header of the job's message; NULL: nothing. -EINVAL: it is malformed;
 * -ENOMEM. */
int taskbench_init(struct taskbench *bench, struct benches *benches, const char *name);

void taskbench_deinit(struct taskbench *bench);

/* Points *BODY, the fields of a job as JSON, at the cached directory if it is there. 0 or
 * -ENOMEM. */
int taskbench_use(struct taskbench *bench, struct bytes *body);

/* Whether MESSAGE, an answer, says that the host has not this rubric, and fetching it may help. */
bool taskbench_lacks(const struct taskbench *bench, const struct message *message);

/* Whether MESSAGE says so although it was fetched as often as may help. Writes why to RET. */
bool taskbench_was_in_vain(const struct taskbench *bench, const struct message *message,
                           char ret[FAULT_MAX]);

/* Fetches the directory; bench->wait.done is called. */
void taskbench_fetch(struct taskbench *bench);

/* Says that the rubric was not to be had, because of WHY. HOST is the one that says so of itself;
 * NULL: the fleet does not have it. */
void taskbench_reason(const struct taskbench *bench, const char *why, const char *host,
                      char ret[FAULT_MAX]);
