/* SPDX-License-Identifier: MIT */
#pragma once
/* The one message that ends a job: from what the slot saw to `result` or `error`. Pure. */

#include "job.h"

#include "daemon/pool/result.h"
#include "proto/reply.h"

#define ANSWER_WHAT_MAX 256

struct answer {
    struct bytes payload; /* owned */
    bool is_result;
    bool passed;
    enum error_code code;       /* where it is no result */
    char what[ANSWER_WHAT_MAX]; /* the first failure mode, or the error's message; "" if passed */
    struct usage usage;         /* where it is a result */
    enum limit limit;           /* that was exceeded; LIMIT_NONE: none, or it is no result */
    uint64_t ran_ns;            /* as measured; 0: nothing was run, or it is no result */
    double score;               /* NAN: none */
    bool program_failed; /* the verdict is ours: the rubric gave no valid one, or the sandbox job's
                          * program did not end well */
};

#define ANSWER_NULL                                \
    {                                              \
        .payload = BYTES_NULL, .limit = LIMIT_NONE \
    }

void answer_deinit(struct answer *answer);
#define _cleanup_answer_ _cleanup_(answer_deinit)

/* The answer to a job that a slot has ended. ISOLATION is what was in force for this job.
 * 0 or -ENOMEM. */
int answer_from_slot(const struct job *job, const struct slot_result *result,
                     const struct bytes *isolation, struct answer *ret);

/* The answer to a job that is not run because its system under test failed. */
int answer_from_sut(const struct job *job, const struct bytes *isolation, struct answer *ret);

/* The answer to a job in whose generation there is no code: no score, and why. */
int answer_no_code(const struct job *job, const struct bytes *isolation, struct answer *ret);

int answer_error(const struct job *job, enum error_code code, const char *message,
                 struct answer *ret);
