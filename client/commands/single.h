/* SPDX-License-Identifier: MIT */
#pragma once
/* Sends one job and waits for its answer. */

#include "client/cli/exitstatus.h"
#include "client/connection/message.h"
#include "client/connection/session.h"

/* Sends JOB, with BENCH_ROOT (may be NULL) where it names none, and waits for its result or error.
 * STATUS_OK with the message in *ret; or another status after a complaint on stderr, which begins
 * with WHAT, the name of the command. Returns STATUS_INTERRUPTED at once after a signal: closing
 * the connection ends the job. */
enum exit_status single_job(struct session *session, json_t *job, const char *bench_root,
                            const char *what, struct message *ret);

/* The two halves of single_job(), for a command that does something else while it waits. */
enum exit_status single_send(struct session *session, json_t *job, const char *bench_root,
                             const char *what);

/* Returns STATUS_INTERRUPTED as soon as WAKE_FD is readable, and may be called again then. */
enum exit_status single_wait(struct session *session, int wake_fd, struct message *ret);

/* The same for a job that streams: *ret may also be a piece of its output. Call it again then. */
enum exit_status single_next(struct session *session, int wake_fd, struct message *ret);

/* Prints VALUE to stdout: indented on a terminal, on one line otherwise. */
void single_print(const json_t *value);
