/* SPDX-License-Identifier: MIT */
#pragma once
/* The log entry of a job's end. Pure. */

#include "daemon/jobs/answer.h"
#include "daemon/log/record.h"

/* The importance of ANSWER. A verdict is data, whatever it is; so is what the client asked for and
 * could not have. What went wrong on our side is a warning, what must not happen an error. */
int joblog_level(const struct answer *answer);

/* Fills RECORD. DIGEST is that of the isolation of this job; ERR, which may be NULL, what it wrote
 * to stderr: told where its program failed. */
void joblog_record(const struct job *job, const struct answer *answer, const char *digest,
                   const struct bytes *err, struct record *record);
