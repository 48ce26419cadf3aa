/* SPDX-License-Identifier: MIT */
#pragma once
/* Facts about the run from the result lines: versions, rubrics, hosts, times. A reader needs them
 * to grade the same again. Pure. */

#include "intern.h"
#include "line.h"

/* Distinct versions, rubrics and hosts; each list drops what exceeds it. */
#define FACTS_MAX 1000

struct facts {
    struct intern rubricd;           /* versions of the daemon */
    struct intern rubrics;           /* "TASK_CLASS\0DIGEST" */
    struct intern hosts;             /* run.host, printed */
    int64_t started_ms, finished_ms; /* since 1970; 0: not known */
};

/* Adds what LINE says. 0 or -ENOMEM. */
int facts_add(struct facts *facts, const struct line *line);
void facts_deinit(struct facts *facts);

/* Returns the milliseconds since 1970 of "2026-11-21T17:55:01.123Z"; 0 if TEXT is no such time. */
int64_t facts_parse_time(const char *text);

/* Writes MS as "2026-11-21T17:55:01Z". Returns OUT. */
#define FACTS_TIME_MAX 32
const char *facts_print_time(int64_t ms, char out[FACTS_TIME_MAX]);
