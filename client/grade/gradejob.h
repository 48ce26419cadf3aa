/* SPDX-License-Identifier: MIT */
#pragma once
/* A task and what was written for it to a job of kind `code_exec`; its answer to a line of results.
 * Pure. */

#include "dataset.h"
#include "sample.h"

#include "client/connection/message.h"

struct gradejob_policy {
    double timeout_s; /* 0: the daemon's default */
    bool shared;      /* the tests share objects with the code */
};

/* The job; NULL when memory runs out. */
json_t *gradejob_make(const struct task *task, enum sample_form form, json_t *text,
                      const struct gradejob_policy *policy);

enum grade {
    GRADE_FAILED,
    GRADE_PASSED,
    GRADE_NONE, /* the job ended in an error: that is no verdict */
};

/* Puts the verdict of ANSWER (a `result` or an `error`) beside the sample's own fields in LINE.
 * 0 or -ENOMEM. */
int gradejob_put_verdict(json_t *line, const struct message *answer, enum grade *ret);
