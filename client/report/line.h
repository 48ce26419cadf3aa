/* SPDX-License-Identifier: MIT */
#pragma once
/* One line of results, in either of two forms: the daemon's answer to a job, as rubricctl batch
 * writes it (`type` is result or error), or a sample with its verdict, as rubricctl grade and the
 * harness of HumanEval write it (`task_id` and `passed`). Pure. */

#include "proto/json.h"

enum line_state {
    LINE_PASSED,
    LINE_FAILED,
    LINE_ERROR, /* no verdict */
    LINE_NOTE,  /* not a result: of another type, or about the run as a whole */
};

#define LINE_MS_UNKNOWN UINT32_MAX

/* Borrows everything from the line's object. A member is NULL if the line lacks it. */
struct line {
    enum line_state state;

    /* Which sample of which case. */
    const char *id; /* of the case: task_id of a sample; else run.case_id, else id */
    size_t id_length;
    char id_text[24];   /* room for a task_id that is a number */
    bool is_unnumbered; /* each such line of a case is another sample, in order */
    uint32_t sample;
    bool first;             /* first sample, to which batch gives the id of the case */
    uint32_t attempts;      /* this one, and earlier ones that do not count */
    double cost_of_earlier; /* of the earlier attempts, in USD */

    const char *task_class; /* else the kind of its job; NULL if neither is known */
    double score;           /* NAN if there is none */
    double cost_usd;
    uint32_t wall_ms, queue_ms; /* or LINE_MS_UNKNOWN */
    const json_t *failure_modes;
    const char *reason;         /* why there is no score, or what failed if no mode says it */
    const char *detail;         /* of that reason */
    const char *code, *message; /* of an error */
    const json_t *outcome, *std_out, *compile, *tests; /* what evidence.h looks at */

    const json_t *isolation;
    bool shared;               /* the graded code could have forged the verdict */
    const json_t *run;         /* what the client says about the run */
    const char *rubric_digest; /* of the rubric that graded; else the one that the client saw */
};

/* Whether the member NAME, of N bytes, of a line is decoded. */
bool line_uses(const char *name, size_t n);

/* Decodes OBJECT. *RET points into OBJECT and, if the id is a number, into itself: do not copy it.
 * 0, or -EINVAL with a FAULT that names the JSON path. */
int line_decode(const json_t *object, struct line *ret, struct fault *fault);
