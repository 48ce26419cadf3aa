/* SPDX-License-Identifier: MIT */
#pragma once
/* BenchScore: what a rubric writes and what every result carries. */

#include "json.h"
#include "printer.h"

#include <stdint.h>

struct bench_score {
    bool passed;
    double score;          /* 0 to 1; NAN where there is none (null on the wire) */
    json_t *breakdown;     /* owned object of string to finite number */
    json_t *failure_modes; /* owned array of {code, severity, detail?} */
    double cost_usd;       /* finite, >= 0 */
    int64_t wall_clock_ms; /* the daemon's own measurement, >= 1 */
};

#define BENCH_SCORE_NULL \
    {                    \
        .passed = false  \
    }

void bench_score_deinit(struct bench_score *score);
#define _cleanup_bench_score_ _cleanup_(bench_score_deinit)

/* Makes a score of 0, not passed, with one failure mode of severity `block`. DETAIL may be NULL and
 * may hold arbitrary bytes. 0 or -ENOMEM. */
int bench_score_block(const char *code, const char *detail, size_t detail_length,
                      struct bench_score *ret);

/* Makes a score of 1, passed, without breakdown or failure modes. 0 or -ENOMEM. */
int bench_score_pass(struct bench_score *ret);

/* Decodes OBJECT strictly: requires `passed` and `score`, fills in defaults for the other fields
 * and refuses unknown ones. Checks that `wall_clock_ms` is an integer and ignores its value. 0,
 * -EINVAL with the JSON path in FAULT, or -ENOMEM. */
int bench_score_decode(const json_t *object, struct bench_score *ret, struct fault *fault);

/* Prints the JSON object. */
void bench_score_print(const struct bench_score *score, struct printer *printer);
