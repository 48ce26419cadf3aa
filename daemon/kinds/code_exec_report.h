/* SPDX-License-Identifier: MIT */
#pragma once
/* What the checker of a code_exec job reports (checker/judge.py), and the verdict that follows from
 * it and from how the job ended. Pure. */

#include "proto/benchscore.h"
#include "proto/reply.h"

#include <stddef.h>

struct code_exec_report {
    const char *verdict; /* a word of protocol.md's; NULL: the checker is broken */
    json_t *assertions;  /* owned: [{passed, detail?}], those that have ended */
    char *broken;        /* owned: why there is no verdict; NULL: there is one */
};

#define CODE_EXEC_REPORT_NULL \
    {                         \
        .verdict = NULL       \
    }

/* Reads OUT, the report of a job of TOTAL assertions whose process ended as OUTCOME says, and
 * makes the score. Both out parameters are the caller's. 0 or -ENOMEM. */
int code_exec_report_judge(const struct bytes *out, size_t total, const struct outcome *outcome,
                           struct code_exec_report *ret, struct bench_score *ret_score);

void code_exec_report_deinit(struct code_exec_report *report);
#define _cleanup_code_exec_report_ _cleanup_(code_exec_report_deinit)
