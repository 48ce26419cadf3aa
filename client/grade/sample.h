/* SPDX-License-Identifier: MIT */
#pragma once
/* One line of what a model has written for a task. Pure. */

#include "taskid.h"

enum sample_form {
    SAMPLE_COMPLETION, /* continues the prompt */
    SAMPLE_SOLUTION,   /* a whole program */
    SAMPLE_GENERATION, /* free text with code in it */
};

struct sample {
    char task_id[TASK_ID_MAX + 1];
    enum sample_form form;
    json_t *text; /* a string, borrowed from the object */
};

/* -EINVAL with FAULT. A line has exactly one of `completion`, `solution` and `generation`. */
int sample_decode(const json_t *object, struct sample *ret, struct fault *fault);
