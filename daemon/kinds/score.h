/* SPDX-License-Identifier: MIT */
#pragma once
/* The verdict: Outcome and stdout to a BenchScore. Pure. */

#include "rubric_files.h"

#include "proto/benchscore.h"
#include "proto/reply.h"

struct score_input {
    const struct outcome *outcome;
    const struct bytes *out, *err;       /* stdout and stderr as they were written */
    const struct task_class *task_class; /* NULL: the checks are off */
};

/* The score of a rubric that ran; *ret_accepted tells whether it is the rubric's own. wall_clock_ms
 * is left at 1 for the caller to set. 0 or -ENOMEM. */
int score_rubric(const struct score_input *input, struct bench_score *ret, bool *ret_accepted);

/* The score of a sandbox job: passed with 1, or failed with 0. */
int score_sandbox(const struct outcome *outcome, struct bench_score *ret);

/* The score of a case whose system under test failed: the rubric is not run. */
int score_sut(const struct rubric_spec *spec, struct bench_score *ret);
