/* SPDX-License-Identifier: MIT */
#pragma once
/* Which ids a batch has met: those that are answered in the file of results that it continues, and
 * those that the input has named. An id takes the same few bytes whatever its job and its answer
 * are, so that it can hold millions. */

#include "idmap.h"
#include "resultfile.h"

enum ledger_fate {
    LEDGER_NEW,
    LEDGER_KEPT,      /* the file has its verdict */
    LEDGER_CHANGED,   /* the file has a verdict on another job of this id */
    LEDGER_AGAIN,     /* the file has an error */
    LEDGER_DUPLICATE, /* the input had this id before */
};

/* What the file has of an id. */
enum ledger_kind {
    LEDGER_NOTHING,
    LEDGER_PASSED,
    LEDGER_FAILED,
    LEDGER_ERROR,
    LEDGER_KINDS,
};

struct ledger {
    struct idmap ids;
    /* Of the file: */
    uint64_t lines[LEDGER_KINDS]; /* those that still count */
    uint64_t superseded; /* lines behind which another one of the same id stands, or will */
    double cost_usd;
    /* Of the input: */
    uint64_t kept;
    uint64_t kept_passed; /* of these */
    uint64_t changed;
    uint64_t failed_before; /* ended in an error and are run again */
};

#define LEDGER_NULL        \
    {                      \
        .ids = IDMAP_NULL, \
    }

void ledger_deinit(struct ledger *ledger);

/* Puts down a line of the file; a later one of the same id replaces it. 0 or -ENOMEM. */
int ledger_add_line(struct ledger *ledger, const struct result_line *line);

/* What becomes of a job of the input, which is put down; IDENTITY is runinfo_identity(). -ENOMEM.
 */
int ledger_take_job(struct ledger *ledger, const char *id, size_t n, uint64_t identity);

/* The input has the id, and nothing is to be done about it. */
void ledger_skip_job(struct ledger *ledger, const char *id, size_t n);

/* Whether the input had the id so far. */
bool ledger_has_job(const struct ledger *ledger, const char *id, size_t n);
