/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes `run`, the member of a line of results that says how its job was run (proto/protocol.md,
 * "Files of results"). */

#include "client/connection/message.h"

struct digests; /* rubricdir/digests.h */

/* Makes what is known before the job is submitted: its case and the digests. JOB is as it will be
 * submitted, without its id. DIGESTS remembers those of rubrics' directories; NULL: they are not
 * wanted. NULL when memory runs out. */
json_t *runinfo_make(json_t *job, const struct bytes *id, struct digests *digests);

/* Notes that the job is the SAMPLE'th of the case CASE_ID. 0 or -ENOMEM. */
int runinfo_set_sample(json_t *run, const struct bytes *case_id, uint64_t sample);

/* Why a job was run again. */
#define RUNINFO_ERROR "error"
#define RUNINFO_STARVED "starved"

/* Adds ANSWER, which did not count, to the earlier ones. WHY is one of the above. 0 or -ENOMEM. */
int runinfo_add_earlier(json_t *run, const char *why, const struct message *answer);

/* Counts the earlier answers. */
size_t runinfo_earlier(const json_t *run);

/* Completes RUN for an answer that came now from a daemon of this VERSION. 0 or -ENOMEM. */
int runinfo_finish(json_t *run, const char *version);

/* Copies into RUN the deadline of ANSWER if it was moved, and what a fleet says of the ANSWER to a
 * job that starved. 0 or -ENOMEM. */
int runinfo_set_starvation(json_t *run, const json_t *answer);

/* Copies usage, isolation and mode of ANSWER into RUN, for a line without the answer itself. 0 or
 * -ENOMEM. */
int runinfo_set_circumstances(json_t *run, const json_t *answer);

/* Notes where the job was run; see hostinfo.h. Takes over HOST. 0 or -ENOMEM. */
int runinfo_set_host(json_t *run, json_t *take_host);

/* Adds RUN as the last member of the JSON object in LINE. 0 or -ENOMEM. */
int runinfo_splice(struct bytes *line, const json_t *run);

/* Returns a number that changes when the job changes, or its rubric if that can be read. */
uint64_t runinfo_identity(const json_t *run);

/* Returns the part of that number that the rubric makes; 0 if RUN has no digest of one. The number
 * of the job alone is the two xor each other. */
uint64_t runinfo_rubric(const json_t *run);
