/* SPDX-License-Identifier: MIT */
#pragma once
/* The files in rubric_template/, of which `rubricctl new-rubric` makes a task class. */

#include <stddef.h>

struct rubric_template {
    const char *name; /* of the file */
    const char *text; /* with RUBRIC_TEMPLATE_NAME where the name of the task class belongs */
};

#define RUBRIC_TEMPLATE_NAME "@name@"

extern const struct rubric_template rubric_templates[];
extern const size_t n_rubric_templates;
