/* SPDX-License-Identifier: MIT */
#pragma once
/* What the results of each case come to. A case counts once, however often it was graded: its
 * gradings are not independent of each other, so it is cases that are resampled. Pure. */

#include "results.h"

struct case_sum {
    double score_sum;
    double cost_usd;
    uint32_t scored;   /* verdicts with a score */
    uint32_t verdicts; /* all of them */
    uint32_t passed;
    uint32_t errors;
    uint16_t class_no; /* of its first result that has one */
};

/* One for each case in RESULTS, to be freed; NULL when memory runs out. */
struct case_sum *cases_sum(const struct results *results);

/* The cases of each task class. */
struct case_groups {
    uint32_t *order; /* numbers of cases, those of a class together */
    size_t *from;    /* where those of a class begin; one more than there are classes */
    size_t n;        /* classes */
};

#define CASE_GROUPS_NULL \
    {                    \
        .order = NULL,   \
    }

/* 0 or -ENOMEM. */
int case_groups_init(struct case_groups *ret, const struct results *results,
                     const struct case_sum *sums);
void case_groups_deinit(struct case_groups *groups);

/* [{id, task_class, digest, verdicts, passed, errors, score}]; NULL when memory runs out. */
json_t *cases_json(const struct results *results, const struct case_sum *sums);

/* The mean score; NAN where nothing was scored. */
double case_score(const struct case_sum *sum);

/* The share that passed; NAN where there is no verdict. */
double case_pass_rate(const struct case_sum *sum);
