/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads a file of results as a run left it, however that run ended (proto/protocol.md, "Files of
 * results"): the last line may be torn, and of lines with the same id the last counts. */

#include "client/connection/message.h"

#include <sys/types.h>

/* One line. Its pointers are valid during the visit. */
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

/* A negative value stops the reading, which returns it. */
typedef int result_visit(const struct result_line *line, void *arg);

/* Calls VISIT for each line of the file at PATH; with LAST_ONLY, for the last line of each id.
 * Leaves out what it cannot read at the end of the file and sets *ret_end to where that begins.
 * Such a line anywhere else is an error: -EINVAL with FAULT, which names it. Other negative errno
 * with FAULT. */
int resultfile_read(const char *path, bool last_only, result_visit *visit, void *arg,
                    off_t *ret_end, struct fault *fault);

/* Replaces the file at PATH by one with the last line of each id, atomically. Negative errno with
 * FAULT; the file is then as it was. */
int resultfile_compact(const char *path, struct fault *fault);
