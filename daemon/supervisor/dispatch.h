/* SPDX-License-Identifier: MIT */
#pragma once
/* The way of a job through the supervisor once it is admitted: launched on a slot, answered,
 * freed. Part of the supervisor. */

#include "state.h"

/* The pool's callbacks; their userdata is the supervisor. */
extern const struct pool_ops dispatch_pool_ops;

/* Answers JOB with an error and frees it. It is in no queue and on no slot. */
void dispatch_answer_error(struct supervisor *supervisor, struct job *job, enum error_code code,
                           const char *message);

/* Answers JOB, whose system under test failed, and frees it. */
void dispatch_answer_sut(struct supervisor *supervisor, struct job *job);
