/* SPDX-License-Identifier: MIT */
#pragma once
/* Turns a task and a sample into a job of kind `code_exec` or `program`, and the answer into a line
 * of results. Pure. */

#include "dataset.h"
#include "sample.h"

#include "client/connection/message.h"

/* The code of the error of a job whose tests or prelude need a module that the host lacks. */
#define GRADEJOB_LACKING "module_not_found"

/* The detail of an `error` verdict on code of which the tests have asked nothing. */
#define GRADEJOB_UNASKED "the tests ask nothing of the code"

struct gradejob_policy {
    double timeout_s; /* 0: the daemon's default */
    int64_t memory;   /* bytes; 0: the data set's, or the daemon's default */
    int64_t output;   /* bytes that a program may write; 0: the daemon's default */
    bool shared;      /* run the tests in the process of the code */
    bool transcript;  /* ask for the transcripts of passes */
    const json_t
        *warm_modules;    /* that jobs of kind code_exec are to have loaded ahead; NULL: none */
    const char *language; /* of samples that do not say, of tasks that have none; NULL: Python */
};

/* The code of a sample. */
struct gradejob_code {
    enum sample_form form;
    json_t *text;         /* a string */
    const char *language; /* that the sample names; NULL: none */
};

/* Makes the job. Returns NULL when memory runs out. */
json_t *gradejob_make(const struct task *task, const struct gradejob_code *code,
                      const struct gradejob_policy *policy);

/* The data set's own solution as such code. */
struct gradejob_code gradejob_solution(const struct task *task);

/* The language in which CODE is judged for TASK; NULL with FAULT if the task is in another. */
const char *gradejob_language(const struct task *task, const struct gradejob_code *code,
                              const struct gradejob_policy *policy, struct fault *fault);

/* Whether code can forge a verdict on TASK. */
bool gradejob_is_forgeable(const struct task *task, const struct gradejob_policy *policy);

enum grade {
    GRADE_FAILED,
    GRADE_PASSED,
    GRADE_NONE, /* the job ended in an error: no verdict */
};

/* Adds the verdict of ANSWER, a `result` or an `error`, to the sample's own fields in LINE. 0 or
 * -ENOMEM. */
int gradejob_put_verdict(json_t *line, const struct message *answer, enum grade *ret);
