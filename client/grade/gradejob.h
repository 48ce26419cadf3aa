/* SPDX-License-Identifier: MIT */
#pragma once
/* Turns a task and a sample into a job of kind `code_exec`, and the answer into a line of results.
 * Pure. */

#include "dataset.h"
#include "sample.h"

#include "client/connection/message.h"

/* The code of the error of a job whose tests or prelude need a module that the host lacks. */
#define GRADEJOB_LACKING "module_not_found"

struct gradejob_policy {
    double timeout_s; /* 0: the daemon's default */
    bool shared;      /* run the tests in the process of the code */
    bool transcript;  /* ask for the transcripts of passes */
};

/* Makes the job of TEXT, the sample's code. Returns NULL when memory runs out. */
json_t *gradejob_make(const struct task *task, enum sample_form form, json_t *text,
                      const struct gradejob_policy *policy);

enum grade {
    GRADE_FAILED,
    GRADE_PASSED,
    GRADE_NONE, /* the job ended in an error: no verdict */
};

/* Adds the verdict of ANSWER, a `result` or an `error`, to the sample's own fields in LINE. 0 or
 * -ENOMEM. */
int gradejob_put_verdict(json_t *line, const struct message *answer, enum grade *ret);
