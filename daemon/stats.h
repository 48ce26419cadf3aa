/* SPDX-License-Identifier: MIT */
#pragma once
/* What has happened since the start: counters and the last failures, for status. */

#include "job.h"

#include "proto/reply.h"

#include <jansson.h>
#include <stdint.h>

#define STATS_FAILURES 10

struct stats_failure {
    uint64_t job_no, at_ns;
    struct bytes id;
    char *label; /* job_describe() */
    const char *kind;
    char *what; /* "rubric.timeout", "sandbox_failed: ..." */
};

struct stats {
    uint64_t submitted, results, passed;
    uint64_t errors[ERROR_INTERNAL + 1];
    struct stats_failure failures[STATS_FAILURES]; /* a ring */
    size_t next_failure;
};

void stats_deinit(struct stats *stats);

/* A job has got its verdict; WHAT names the first failure mode of one that did not pass. */
void stats_count_result(struct stats *stats, bool passed);

void stats_count_error(struct stats *stats, enum error_code code);

/* Remembers a failure of JOB; forgets the oldest. */
void stats_add_failure(struct stats *stats, const struct job *job, const char *what);

json_t *stats_counters_json(const struct stats *stats);

/* The latest first. */
json_t *stats_failures_json(const struct stats *stats, uint64_t now_ns);
