/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the data set for `rubricctl grade`, and says on stderr what is wrong or special with it. */

#include "client/grade/dataset.h"

/* What messages call the file at PATH. */
const char *grade_tasks_name(const char *path);

/* Reads the data set at PATH. Complains about each record that cannot be used, and adds how many
 * these are to *UNUSABLE. Negative with FAULT if no task can be used; the caller owns *ret. */
int grade_tasks_read(const char *path, struct dataset *ret, uint64_t *unusable,
                     struct fault *fault);

/* Names the tasks without a sample. Whether there are any. */
bool grade_tasks_tell_unattempted(const struct dataset *dataset, const char *name);

/* Says which tests were run if the data set has several. */
void grade_tasks_tell_plus(const struct dataset *dataset, const char *name);
