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

/* A score of 0, not passed, with one failure mode of severity `block`; DETAIL (arbitrary bytes)
 * may be NULL. 0 or -ENOMEM. */
int bench_score_block(const char *code, const char *detail, size_t detail_length,
                      struct bench_score *ret);

/* Passed, with a score of 1 and nothing else to tell. 0 or -ENOMEM. */
int bench_score_pass(struct bench_score *ret);

/* Strictly decodes OBJECT: `passed` and `score` are required, the rest has defaults,
 * nothing else may be there. `wall_clock_ms` must be an integer where it is given and is otherwise
 * ignored. -EINVAL with the JSON path in FAULT. */
int bench_score_decode(const json_t *object, struct bench_score *ret, struct fault *fault);

/* Prints the JSON object. */
void bench_score_print(const struct bench_score *score, struct printer *printer);
