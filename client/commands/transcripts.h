/* SPDX-License-Identifier: MIT */
#pragma once
/* The file into which `grade --transcripts` writes a line for each pass. */

#include "client/batch/output.h"
#include "client/connection/message.h"

struct transcripts {
    struct output output; /* fd -1: no transcripts are wanted */
    uint64_t replayable, others;
    bool failed; /* a line could not be written, and none was since */
};

#define TRANSCRIPTS_NULL       \
    {                          \
        .output = OUTPUT_NULL, \
    }

/* Opens the file at PATH; NULL: none is wanted. Refuses it as output_open() does. Negative errno
 * after a complaint. */
int transcripts_open(struct transcripts *transcripts, const char *path, enum output_mode mode,
                     const char *const *inputs, size_t n);

/* Writes the line for ANSWER to JOB if it is a pass. SAMPLE as in transcript_line(). Complains once
 * if the file cannot be written. 0 or -ENOMEM. */
int transcripts_add(struct transcripts *transcripts, const json_t *job, const json_t *sample,
                    const struct message *answer);

/* Brings the file to the disk, says how many transcripts there are unless QUIET, and returns
 * whether all were written. */
bool transcripts_finish(struct transcripts *transcripts, bool quiet);

void transcripts_deinit(struct transcripts *transcripts);
