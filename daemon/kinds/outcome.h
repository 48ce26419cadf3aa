/* SPDX-License-Identifier: MIT */
#pragma once
/* Turns what the slot saw of a job's end into the outcome and usage of the reply. Names a limit
 * only on evidence. Pure. */

#include "daemon/pool/result.h"
#include "proto/reply.h"

/* Makes the outcome of RESULT, whose end is SLOT_END_EXITED, or SLOT_END_JAIL_LOST with `killed`
 * saying why the supervisor killed it. 0 or -ENOMEM. */
int outcome_from_result(const struct slot_result *result, const struct limits *limits,
                        struct outcome *ret);

/* Removes the stderr of a job that went well, and makes the summary say so. */
void outcome_drop_stderr(struct outcome *outcome);

/* Makes the usage; the job waited QUEUE_MS in the queue. */
struct usage usage_from_result(const struct slot_result *result, int64_t queue_ms);

/* Writes what happened, for people: "exit status 3", "signal 11 (SIGSEGV)", "limit exceeded:
 * output".
 */
void outcome_describe(const struct outcome *outcome, char *text, size_t size);
