/* SPDX-License-Identifier: MIT */
#pragma once
/* Sums up a batch: counts verdicts and errors and renders text. Pure. */

#include "client/connection/message.h"

#include <stdio.h>

/* Count this many failure modes and error codes apart: rubrics choose the codes, and may choose
 * many. */
#define SUMMARY_CODES_MAX 200

/* Different messages of one error code that are shown. */
#define SUMMARY_MESSAGES_MAX 10

struct summary {
    uint64_t passed;
    uint64_t failed;
    uint64_t errors;
    uint64_t crashed;  /* among the failed: their rubric crashed */
    json_t *crash;     /* string: the first such job, and why; NULL: none */
    uint64_t unusable; /* input lines and files */
    uint64_t named;    /* other lines that were named, since one of these is at fault */
    uint64_t scored;   /* verdicts with a score */
    double score_sum;
    double cost_usd;
    json_t *failure_modes; /* object of name to count */
    json_t *error_codes;
    json_t *messages; /* object of code (of an error, or a failure mode) to an object of message to
                         the name of the first such job */
};

#define SUMMARY_NULL \
    {                \
        .passed = 0  \
    }

/* How the batch went, for the summary's head. */
struct summary_run {
    int64_t wall_ms;
    uint64_t answered;       /* in this run; the summary may hold jobs of earlier ones, too */
    uint64_t kept;           /* jobs of the input that an earlier run answered */
    uint64_t changed;        /* that it answered, and that were to run again: the job has changed */
    uint64_t rubric_changed; /* ... or only its rubric has */
    uint64_t unanswered;
};

int summary_init(struct summary *ret);
void summary_deinit(struct summary *summary);
#define _cleanup_summary_ _cleanup_(summary_deinit)

void summary_add_result(struct summary *summary, const struct score_parts *parts);

/* NAME and MESSAGE may be NULL; the summary shows the different messages of each code, each with
 * the name of the first job that had it. */
void summary_add_error(struct summary *summary, const char *code, const char *name,
                       const char *message);

/* Has the summary show MESSAGE for the failure mode CODE of the job NAME, likewise. */
void summary_explain(struct summary *summary, const char *code, const char *name,
                     const char *message);

/* Counts a job, which was added as failed, as one whose rubric crashed: its score of 0 says nothing
 * of the answer. NAME may be NULL; WHY is one line. */
void summary_add_crash(struct summary *summary, const char *name, const char *why);

/* Counts the jobs that were answered. */
uint64_t summary_answered(const struct summary *summary);

/* Writes several lines for people. */
void summary_put(FILE *out, const struct summary *summary, const struct summary_run *run);

/* Writes only the errors, and the verdicts that say nothing of an answer since the rubric crashed;
 * nothing if there are none. */
void summary_put_problems(FILE *out, const struct summary *summary);
