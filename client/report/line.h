/* SPDX-License-Identifier: MIT */
#pragma once
/* One line of results: what the daemon said of a job (a `result` or an `error`, as rubricctl batch
 * writes it), or of a sample (a task_id with `passed` beside it, as rubricctl grade and the harness
 * of HumanEval do). Pure. */

#include "proto/json.h"

enum line_state {
    LINE_PASSED,
    LINE_FAILED,
    LINE_ERROR, /* no verdict */
    LINE_NOTE,  /* no result: a line of a type that is not known, or about the run as a whole */
};

#define LINE_MS_UNKNOWN UINT32_MAX

/* Everything is borrowed from the line's object; what is not there is NULL. */
struct line {
    enum line_state state;

    /* Which grading of which case. */
    const char *id; /* of the case: task_id of a sample; else run.case_id, else id */
    size_t id_length;
    char id_text[24];    /* where a task_id is a number */
    bool numbers_itself; /* each line is one more sample: it has a task_id, and no number */
    uint32_t sample;
    bool first;             /* sample of its case as batch has it, whose id is that of the case */
    uint32_t attempts;      /* this one and those before it, which do not count */
    double cost_of_earlier; /* attempts, in USD */

    const char *task_class; /* its kind where there is none; NULL: not known */
    double score;           /* NAN: none */
    double cost_usd;
    uint32_t wall_ms, queue_ms; /* or LINE_MS_UNKNOWN */
    const json_t *failure_modes;
    const char *reason;         /* why there is no score, or what failed where no mode says it */
    const char *detail;         /* to that reason */
    const char *code, *message; /* of an error */

    const json_t *isolation;
    bool shared;       /* the verdict could have been forged */
    const json_t *run; /* what the client added */
};

/* Decodes OBJECT; -EINVAL with FAULT naming the JSON path. *RET points into OBJECT and, for an id
 * that is a number, into itself. */
int line_decode(const json_t *object, struct line *ret, struct fault *fault);
