/* SPDX-License-Identifier: MIT */
#pragma once
/* The lines of a file of transcripts (proto/protocol.md, "Files of transcripts"): made of the
 * answer to a job, and turned into the job that replays it. Pure. */

#include "client/connection/message.h"
#include "proto/fault.h"

/* Whether ANSWER is a pass, which gets a line. */
bool transcript_is_due(const struct message *answer);

/* Makes the line for ANSWER, such a pass, to JOB as it was submitted. SAMPLE has the task_id and
 * the number of the sample. The caller owns *ret. 0 or -ENOMEM. */
int transcript_line(const json_t *job, const json_t *sample, const struct message *answer,
                    struct bytes *ret);

/* Whether ANSWER came with a transcript that can be replayed. */
bool transcript_is_replayable(const struct message *answer);

/* What a line says; borrowed from it. */
struct transcript {
    const json_t *id;
    json_t *job;        /* ready to be submitted as a replay, unless there is a reason */
    const char *reason; /* why it cannot be replayed; NULL: it can be */
};

/* Reads LINE and changes its job. -EINVAL with FAULT, or -ENOMEM. */
int transcript_read(json_t *line, struct transcript *ret, struct fault *fault);
