/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes the one message that ends a job, `result` or `error`, from what the slot saw. Pure. */

#include "job.h"

#include "daemon/pool/result.h"
#include "proto/reply.h"

#define ANSWER_WHAT_MAX 256

struct answer {
    struct bytes payload; /* owned */
    bool is_result;
    bool passed;
    enum error_code code;       /* of an error */
    char what[ANSWER_WHAT_MAX]; /* the first failure mode, or the error's message; "" if passed */
    struct usage usage;         /* of a result */
    enum limit limit;           /* the exceeded one; LIMIT_NONE: none, or an error */
    uint64_t ran_ns;            /* as measured; 0: nothing ran, or an error */
    struct deadline deadline;   /* of a job that ran */
    double score;               /* NAN: none */
    bool program_failed;        /* the daemon made the verdict: the rubric gave no valid one, or the
                                 * sandbox job's program did not end well */
};

#define ANSWER_NULL                                \
    {                                              \
        .payload = BYTES_NULL, .limit = LIMIT_NONE \
    }

void answer_deinit(struct answer *answer);
#define _cleanup_answer_ _cleanup_(answer_deinit)

/* Answers a job whose slot has ended it without a program's end to judge: it was cancelled, not
 * started, starved, lost. 0 or -ENOMEM; 1: there is one to judge, and *ret is not touched. */
int answer_from_interruption(const struct job *job, const struct slot_result *result,
                             struct answer *ret);

/* Answers a job that a slot has ended. ISOLATION is the JSON text of what was in force for it. 0 or
 * -ENOMEM. */
int answer_from_slot(const struct job *job, const struct slot_result *result,
                     const struct bytes *isolation, struct answer *ret);

/* Answers a job that does not run because its system under test failed. */
int answer_from_sut(const struct job *job, const struct bytes *isolation, struct answer *ret);

/* Answers a job whose generation has no code: a result without a score, and the reason. */
int answer_no_code(const struct job *job, const struct bytes *isolation, struct answer *ret);

int answer_error(const struct job *job, enum error_code code, const char *message,
                 struct answer *ret);
