/* SPDX-License-Identifier: MIT */
#pragma once
/* `run`, the member that a line of results has beside those of the answer: how its job was run
 * (proto/protocol.md, "Files of results"). */

#include "client/connection/message.h"

/* What stands fast before the job is submitted: its case and the digests. JOB is as it will be
 * submitted, without its id. NULL when memory runs out. */
json_t *runinfo_make(json_t *job, const struct bytes *id);

/* That the job is the SAMPLE'th of the case CASE_ID. 0 or -ENOMEM. */
int runinfo_set_sample(json_t *run, const struct bytes *case_id, uint64_t sample);

/* Why a job was run again. */
#define RUNINFO_ERROR "error"
#define RUNINFO_STARVED "starved"

/* Puts ANSWER, which did not count, among those that came before. 0 or -ENOMEM. */
int runinfo_add_earlier(json_t *run, const char *why, const struct message *answer);

/* How often the job was run already. */
size_t runinfo_earlier(const json_t *run);

/* Completes RUN for an answer that comes now from a daemon of that VERSION. 0 or -ENOMEM. */
int runinfo_finish(json_t *run, const char *version);

/* Puts what ANSWER says of usage, isolation and mode into RUN: for a line that has not the answer
 * itself. 0 or -ENOMEM. */
int runinfo_set_circumstances(json_t *run, const json_t *answer);

/* Where the job was run; see hostinfo.h. 0 or -ENOMEM. */
int runinfo_set_host(json_t *run, json_t *take_host);

/* Adds RUN as the last member of the JSON object that LINE is. 0 or -ENOMEM. */
int runinfo_splice(struct bytes *line, const json_t *run);

/* What tells whether a job is still the one that was run: the job, and the rubric where its file
 * could be read. */
uint64_t runinfo_identity(const json_t *run);
