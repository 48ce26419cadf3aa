/* SPDX-License-Identifier: MIT */
#pragma once
/* What a batch came to. Pure: it is fed with verdicts and renders text. */

#include "client/connection/message.h"

#include <stdio.h>

/* Distinct failure modes, and error codes, that are counted apart; the codes are the rubrics'. */
#define SUMMARY_CODES_MAX 200

struct summary {
    uint64_t passed;
    uint64_t failed;
    uint64_t errors;
    uint64_t unusable; /* input lines and files */
    uint64_t scored;   /* verdicts with a score */
    double score_sum;
    double cost_usd;
    json_t *failure_modes; /* object of name to count */
    json_t *error_codes;
    json_t *first_errors; /* object of name to the first message */
};

#define SUMMARY_NULL \
    {                \
        .passed = 0  \
    }

/* How the batch went, for the summary's head. */
struct summary_run {
    int64_t wall_ms;
    uint64_t answered; /* in this run; the summary may have jobs of earlier ones, too */
    uint64_t kept;     /* jobs of the input that an earlier one had answered */
    uint64_t unanswered;
};

int summary_init(struct summary *ret);
void summary_deinit(struct summary *summary);
#define _cleanup_summary_ _cleanup_(summary_deinit)

void summary_add_verdict(struct summary *summary, const struct verdict *verdict);
/* MESSAGE may be NULL; the first of each code is shown. */
void summary_add_error(struct summary *summary, const char *code, const char *message);

/* Jobs that were answered. */
uint64_t summary_answered(const struct summary *summary);

/* Several lines for a person. */
void summary_put(FILE *out, const struct summary *summary, const struct summary_run *run);
