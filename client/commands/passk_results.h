/* SPDX-License-Identifier: MIT */
#pragma once
/* The results that pass@k is computed from, at a few dozen bytes each. Nothing is counted before
 * all are there, because a later line may replace an earlier one. Pure. */

#include "client/grade/tally.h"
#include "client/report/intern.h"

/* What is kept of a line. */
struct passk_result {
    uint32_t task;     /* number in the tally */
    uint32_t language; /* number in `languages`; INTERN_NONE: the line names none */
    enum grade grade;
    bool shared, broken; /* see tally_note() */
};

struct passk_results {
    struct passk_result *items;
    size_t n, room;
    struct intern keys; /* which sample of which file a line is of */
    uint32_t *item_of;  /* by number in `keys` */
    size_t key_room;    /* of item_of */
    struct intern languages;
};

#define PASSK_RESULTS_NULL \
    {                      \
        .items = NULL,     \
    }

void passk_results_deinit(struct passk_results *results);
#define _cleanup_passk_results_ _cleanup_(passk_results_deinit)

/* Adds GRADE, that LINE of file FILE_NO tells of a sample of TASK, whose id is ID. A line with the
 * id, and the number of the sample, of an earlier line of its file replaces that, as in a report;
 * a line that has no number is a sample of its own. Returns 1 if it replaces one, else 0; -ENOMEM;
 * -EFBIG if there are too many. */
int passk_results_add(struct passk_results *results, const json_t *line, size_t file_no,
                      size_t task, const char *id, enum grade grade);

/* Counts all results in TALLY. 0 or -ENOMEM. */
int passk_results_count(const struct passk_results *results, struct tally *tally);
