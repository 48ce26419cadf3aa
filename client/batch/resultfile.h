/* SPDX-License-Identifier: MIT */
#pragma once
/* A file of results as a run has left it, whatever ended that run (proto/protocol.md, "Files of
 * results"): the last line may be torn, and of lines with the same id the last counts. */

#include "client/connection/message.h"

#include <sys/types.h>

/* One line. What it points to is gone with the visit. */
struct result_line {
    uint64_t number; /* in the file, from 1 */
    const char *text;
    size_t length;  /* with the newline */
    json_t *object; /* the whole line */
    json_t *run;    /* its member `run` */
    const char *id;
    size_t id_length;
    bool answered; /* a verdict, not an error */
    bool passed;
    double cost_usd; /* of all attempts */
};

/* Negative stops the reading and is returned. */
typedef int result_visit(const struct result_line *line, void *arg);

/* Calls VISIT for each line of the file at PATH, with LAST_ONLY for the last one of each id. What
 * cannot be read at its end is left out: *ret_end is where that begins. Anywhere else it is a
 * mistake: -EINVAL with FAULT, which names the line. Other negative errno with FAULT, too. */
int resultfile_read(const char *path, bool last_only, result_visit *visit, void *arg,
                    off_t *ret_end, struct fault *fault);

/* Replaces the file at PATH, at once or not at all, by one with the last line of each id.
 * Negative with FAULT; the file is then as it was. */
int resultfile_compact(const char *path, struct fault *fault);
