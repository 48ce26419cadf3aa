/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes the BenchScore of a rubric or sandbox job from its outcome and output. Pure. */

#include "rubric_files.h"

#include "proto/benchscore.h"
#include "proto/reply.h"

struct score_input {
    const struct outcome *outcome;
    const struct bytes *out, *err;       /* stdout and stderr as they were written */
    const struct task_class *task_class; /* NULL: no lists to check against */
};

/* Scores a rubric that ran. *ret_accepted tells whether the score is the rubric's own. Leaves
 * wall_clock_ms at 1 for the caller to set. 0 or -ENOMEM. */
int score_rubric(const struct score_input *input, struct bench_score *ret, bool *ret_accepted);

/* Scores a sandbox job: 1 if it succeeded, else 0. 0 or -ENOMEM. */
int score_sandbox(const struct outcome *outcome, struct bench_score *ret);

/* Scores a case whose system under test failed, without running the rubric. 0 or -ENOMEM. */
int score_sut(const struct rubric_spec *spec, struct bench_score *ret);
