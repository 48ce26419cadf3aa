/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes the log entry of a job's end. Pure. */

#include "daemon/jobs/answer.h"
#include "daemon/log/record.h"

/* The syslog priority of ANSWER. Any verdict is LOG_INFO, and so is a request that could not be
 * granted. A failure on our side is a warning; one that must not happen is an error. */
int joblog_level(const struct answer *answer);

/* Fills RECORD. DIGEST names the isolation of this job. ERR is what the job wrote to stderr, logged
 * if its program failed; NULL: nothing. */
void joblog_record(const struct job *job, const struct answer *answer, const char *digest,
                   const struct bytes *err, struct record *record);
