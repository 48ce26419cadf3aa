/* SPDX-License-Identifier: MIT */
#pragma once
/* The results of each case, summed up. A case counts once however often it was graded: results of
 * one case depend on each other, so the bootstrap resamples cases, not results. Pure. */

#include "results.h"

struct case_sum {
    double score_sum;
    double cost_usd;
    uint32_t scored;   /* verdicts with a score */
    uint32_t verdicts; /* with and without one */
    uint32_t passed;
    uint32_t errors;
    uint16_t class_no; /* of its first verdict; without any, of its last result */
};

/* Sums up each case of RESULTS, by its number. The caller frees them; NULL when memory runs out. */
struct case_sum *cases_sum(const struct results *results);

/* The cases of each task class. */
struct case_groups {
    uint32_t *order; /* numbers of cases, those of a class together */
    size_t *from;    /* where each class begins in `order`; from[n] is the end of the last */
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

/* Makes [{id, task_class, digest, verdicts, passed, errors, score}]; NULL when memory runs out. */
json_t *cases_json(const struct results *results, const struct case_sum *sums);

/* Returns the mean score; NAN if the case has none. */
double case_score(const struct case_sum *sum);

/* Returns the share of verdicts that passed; NAN without a verdict. */
double case_pass_rate(const struct case_sum *sum);
