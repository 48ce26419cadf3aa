/* SPDX-License-Identifier: MIT */
#pragma once
/* One job and its answer. */

#include "client/cli/exitstatus.h"
#include "client/connection/message.h"
#include "client/connection/session.h"

/* Sends JOB, filled in with BENCH_ROOT (or NULL), and waits for its result or error. STATUS_OK with
 * *ret set; or another status after it has said on stderr what is wrong. WHAT names the command.
 * Interrupted it leaves at once: the connection's end ends the job. */
enum exit_status single_job(struct session *session, json_t *job, const char *bench_root,
                            const char *what, struct message *ret);

/* Prints VALUE to stdout: indented for a person, otherwise as it came on one line. */
void single_print(const json_t *value);
