/* SPDX-License-Identifier: MIT */
#pragma once
/* Keeps the ids that a batch has met: those that the file of results answers, and those that the
 * input names. An id takes the same few bytes whatever its job and answer, so that the ledger can
 * hold millions. */

#include "idmap.h"
#include "resultfile.h"

enum ledger_fate {
    LEDGER_NEW,
    LEDGER_KEPT,           /* the file has its verdict */
    LEDGER_CHANGED,        /* the file has a verdict on a job of this id that has changed since */
    LEDGER_RUBRIC_CHANGED, /* the file has a verdict on this job by another state of its rubric */
    LEDGER_AGAIN,          /* the file has an error */
    LEDGER_DUPLICATE,      /* the input named this id before */
};

/* The state of an id in the file of results. */
enum ledger_kind {
    LEDGER_NOTHING,
    LEDGER_PASSED,
    LEDGER_FAILED,
    LEDGER_ERROR,
    LEDGER_KINDS,
};

struct ledger {
    struct idmap ids;
    struct idmap rubrics; /* of the file: runinfo_rubric() of its lines, as ids */
    /* Of the file: */
    uint64_t lines[LEDGER_KINDS]; /* that still count */
    uint64_t superseded;          /* that a later line of the same id replaces, or will */
    double cost_usd;
    /* Of the input: */
    uint64_t kept;
    uint64_t kept_passed; /* of these */
    uint64_t changed;
    uint64_t rubric_changed; /* not among those */
    uint64_t failed_before;  /* ended in an error, run again */
};

#define LEDGER_NULL                               \
    {                                             \
        .ids = IDMAP_NULL, .rubrics = IDMAP_NULL, \
    }

void ledger_deinit(struct ledger *ledger);

/* Enters a line of the file; replaces an earlier line of the same id. 0 or -ENOMEM. */
int ledger_add_line(struct ledger *ledger, const struct result_line *line);

/* Enters a job of the input, of which RUN is runinfo_make(). Returns its enum ledger_fate, or
 * -ENOMEM. */
int ledger_take_job(struct ledger *ledger, const char *id, size_t n, const json_t *run);

/* Notes that the input names the id, and that its job is not wanted. */
void ledger_skip_job(struct ledger *ledger, const char *id, size_t n);

/* Whether the input has named the id so far. */
bool ledger_has_job(const struct ledger *ledger, const char *id, size_t n);
