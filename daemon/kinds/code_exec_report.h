/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the report that the checker of a code_exec job writes (daemon/checker/judge.py), and
 * decides the verdict from it and from how the job ended. Pure. */

#include "proto/benchscore.h"
#include "proto/reply.h"

#include <stddef.h>

struct code_exec_report {
    const char *verdict;         /* a word of the protocol; NULL: the checker is broken */
    json_t *assertions;          /* owned: [{passed, detail?}] of those that ended */
    json_t *transcript;          /* owned: {replayable, data or reason}; NULL: none */
    char *broken;                /* owned: why there is no verdict; NULL: there is one */
    enum error_code broken_code; /* the error to answer with then */
};

#define CODE_EXEC_REPORT_NULL \
    {                         \
        .verdict = NULL       \
    }

/* Reads OUT, the report of a job with TARGETS assertions (0: a program of tests, which counts as
 * one) whose process ended as OUTCOME says, and makes the score. The caller owns both results. 0 or
 * -ENOMEM. */
int code_exec_report_judge(const struct bytes *out, size_t targets, const struct outcome *outcome,
                           struct code_exec_report *ret, struct bench_score *ret_score);

void code_exec_report_deinit(struct code_exec_report *report);
#define _cleanup_code_exec_report_ _cleanup_(code_exec_report_deinit)
