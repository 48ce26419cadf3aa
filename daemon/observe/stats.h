/* SPDX-License-Identifier: MIT */
#pragma once
/* Counts what has happened since the start, for status and metrics: per kind of job counters,
 * latencies and rates, and the last failures. Counting allocates nothing; remembering a failure
 * does. */

#include "histogram.h"
#include "window.h"

#include "daemon/jobs/job.h"
#include "daemon/jobs/session.h"
#include "proto/reply.h"

#include <jansson.h>
#include <stdint.h>

#define STATS_FAILURES 10
#define STATS_ERROR_CODES (ERROR_INTERNAL + 1)

struct stats_failure {
    uint64_t job_no, at_ns;
    struct bytes id;
    char *label; /* job_describe() */
    const char *kind;
    char *what; /* "rubric.timeout", "sandbox_failed: ..." */
};

/* Each submitted job passes, fails, ends in an error or is dropped, once. */
struct stats_kind {
    uint64_t submitted;
    uint64_t passed, failed; /* results */
    uint64_t dropped;        /* their client was gone before they started */
    uint64_t errors[STATS_ERROR_CODES];
    uint64_t limits[LIMIT_COUNT]; /* results by the limit that was exceeded */
    uint64_t moves;               /* of deadlines, since others had the CPUs */
    struct histogram wall_clock;  /* of jobs that ran and have a result */
    struct histogram queue_wait;  /* of jobs that were given to a slot, until they began */
    struct window recent;
};

struct stats {
    struct stats_kind *kinds; /* owned; JOB_KIND_COUNT of them */
    uint64_t sessions_opened, sessions_ended[SESSION_ENDS];
    uint64_t reloads_refused;
    uint64_t refused;     /* clients, above the maximum */
    uint64_t unread;      /* clients that were dismissed for the replies that they left unread */
    uint64_t unread_jobs; /* unanswered jobs of those */
    struct stats_failure failures[STATS_FAILURES]; /* a ring */
    size_t next_failure;
};

/* 0 or -ENOMEM. */
int stats_init(struct stats *stats, uint64_t now_ns);

/* Accepts a zeroed STATS. */
void stats_deinit(struct stats *stats);

void stats_count_submitted(struct stats *stats, enum job_kind_id kind);

void stats_count_dropped(struct stats *stats, enum job_kind_id kind);

/* Counts how long a job that was given to a slot waited until it began. */
void stats_count_wait(struct stats *stats, enum job_kind_id kind, uint64_t waited_ns,
                      uint64_t now_ns);

struct stats_result {
    bool passed;
    enum limit limit; /* LIMIT_NONE: none was exceeded */
    uint64_t ran_ns;  /* 0: it was not run */
};

/* Counts a job that has its verdict. */
void stats_count_result(struct stats *stats, enum job_kind_id kind,
                        const struct stats_result *result, uint64_t now_ns);

/* Counts MOVES of a job's deadline. */
void stats_count_moves(struct stats *stats, enum job_kind_id kind, unsigned moves);

void stats_count_error(struct stats *stats, enum job_kind_id kind, enum error_code code,
                       uint64_t now_ns);

void stats_count_session_opened(struct stats *stats);
void stats_count_session_ended(struct stats *stats, enum session_end end);

/* Counts a client that was refused because too many are connected. */
void stats_count_refused(struct stats *stats);

/* Counts a client that was dismissed for the replies that it left unread, with JOBS unanswered. */
void stats_count_unread(struct stats *stats, size_t jobs);

/* Counts a configuration that was refused. */
void stats_count_reload_refused(struct stats *stats);

/* How many submitted jobs have not ended. */
uint64_t stats_unfinished(const struct stats *stats, enum job_kind_id kind);

/* Remembers a failure of JOB and forgets the oldest one. WHAT is the first failure mode of a job
 * that did not pass, or the error. */
void stats_add_failure(struct stats *stats, const struct job *job, const char *what);

/* Sums of the counters over all kinds. */
json_t *stats_counters_json(const struct stats *stats);

/* Counters by kind, with rates and quantiles over the last 1, 5 and 15 minutes. */
json_t *stats_kinds_json(const struct stats *stats, uint64_t now_ns);

/* The last failures, the latest first. */
json_t *stats_failures_json(const struct stats *stats, uint64_t now_ns);
