/* SPDX-License-Identifier: MIT */
#pragma once
/* Takes a job from its launch on a slot to its answer: counts, logs, answers and frees it. */

#include "state.h"

/* The pool's callbacks; their userdata is the supervisor. */
extern const struct pool_ops dispatch_pool_ops;

/* Answers JOB, which is in no queue and on no slot, with an error and frees it. */
void dispatch_answer_error(struct supervisor *supervisor, struct job *job, enum error_code code,
                           const char *message);

/* Answers JOB, which is not run because its system under test failed, and frees it. */
void dispatch_answer_sut(struct supervisor *supervisor, struct job *job);
