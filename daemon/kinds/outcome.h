/* SPDX-License-Identifier: MIT */
#pragma once
/* How a job's process ended: from what the slot saw to the Outcome and usage of the reply. A limit
 * is named on evidence only. Pure. */

#include "daemon/pool/result.h"
#include "proto/reply.h"

/* RESULT's end is SLOT_END_EXITED, or SLOT_END_JAIL_LOST with `killed` telling why it was killed.
 * 0 or -ENOMEM. */
int outcome_from_result(const struct slot_result *result, const struct limits *limits,
                        struct outcome *ret);

/* stderr and summary of a job whose stderr is not wanted, because it went well. */
void outcome_drop_stderr(struct outcome *outcome);

/* QUEUE_MS: how long the job waited. */
struct usage usage_from_result(const struct slot_result *result, int64_t queue_ms);

/* What happened, for people: "exit status 3", "signal 11 (SIGSEGV)", "limit exceeded: output". */
void outcome_describe(const struct outcome *outcome, char *text, size_t size);
