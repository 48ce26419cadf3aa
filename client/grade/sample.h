/* SPDX-License-Identifier: MIT */
#pragma once
/* Decodes a sample: what a model wrote for a task. Pure. */

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

/* Whether the member NAME, of N bytes, of a sample's record is decoded. */
bool sample_uses(const char *name, size_t n);

/* Decodes OBJECT, which must have exactly one of `completion`, `solution` and `generation`. -EINVAL
 * with FAULT. */
int sample_decode(const json_t *object, struct sample *ret, struct fault *fault);
