/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the data set for `rubricctl grade`, and says on stderr what is wrong or special with it. */

#include "client/grade/dataset.h"

#include <stdio.h>

/* What messages call the file at PATH. */
const char *grade_tasks_name(const char *path);

/* Reads the data set at PATH. Complains about each record that cannot be used, and adds how many
 * these are to *UNUSABLE. Negative with FAULT if no task can be used; the caller owns *ret. */
int grade_tasks_read(const char *path, const struct dataset_options *options, struct dataset *ret,
                     uint64_t *unusable, struct fault *fault);

/* Names the tasks without a sample. Whether there are any. */
bool grade_tasks_tell_unattempted(const struct dataset *dataset, const char *name);

/* Says which tests were run if the data set has several. */
void grade_tasks_tell_plus(const struct dataset *dataset, const char *name);

/* Writes a line for each format and language: "HumanEvalPack, C++: 164 tasks, ...". LANGUAGE is
 * --language, which may be NULL; TIMEOUT_S --timeout, or 0. */
void grade_tasks_announce(FILE *out, const struct dataset *dataset, const char *language,
                          double timeout_s);
