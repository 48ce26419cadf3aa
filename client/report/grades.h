/* SPDX-License-Identifier: MIT */
#pragma once
/* The scores of a run, over all cases and for each task class. Pure. */

#include "cases.h"
#include "estimate.h"

#include "client/grade/passk.h"

struct grade_counts {
    uint64_t cases, without_verdict;
    uint64_t passed, failed, errors, without_score; /* numbers of results */
    double cost_usd;
};

void grade_counts_add(struct grade_counts *counts, const struct case_sum *sum);

struct grades {
    const struct results *results;
    const struct case_sum *sums;
    const struct case_groups *groups;
    const struct bootstrap_options *bootstrap;
    const struct passk_ks *ks; /* if empty, those that the samples allow */
};

/* Adds the members score, pass_rate, pass_at_k and classes to REPORT. 0 or -ENOMEM. */
int grades_put(const struct grades *grades, json_t *report);
