/* SPDX-License-Identifier: MIT */
#pragma once
/* Sends a sandbox job that streams, and passes its output on as it comes. */

#include "single.h"

/* What has come so far. */
struct sandbox_stream {
    bool is_told;       /* the daemon has sent output, or would have: the result repeats it */
    bool is_open_line;  /* a terminal is left in mid-line */
    bool has_no_reader; /* what reads stdout or stderr is gone */
};

/* As single_job(), for a job of `rubricctl sandbox`. Whoever refuses `stream` is asked again
 * without; *ret then holds all the output, and stream->is_told is false. STATUS_USAGE after a
 * complaint if the output cannot be written, and without one if stream->has_no_reader. */
enum exit_status sandbox_stream_run(struct session *session, json_t *job,
                                    struct sandbox_stream *stream, struct message *ret);
