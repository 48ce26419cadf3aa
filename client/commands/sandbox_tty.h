/* SPDX-License-Identifier: MIT */
#pragma once
/* Runs a sandbox job on a terminal of its own, which the user's terminal stands for. */

#include "sandbox_stream.h"

/* Asks in JOB for a terminal like that of standard input. -EINVAL with FAULT if that is none. */
int sandbox_tty_ask(json_t *job, struct fault *fault);

/* As single_job(), for such a job. While its program runs the user's terminal is raw: keys go to
 * the program as bytes, ^C among them, and its size follows. It is as before when this returns.
 * STATUS_USAGE as sandbox_stream_run(). */
enum exit_status sandbox_tty_run(struct session *session, json_t *job,
                                 struct sandbox_stream *stream, struct message *ret);
