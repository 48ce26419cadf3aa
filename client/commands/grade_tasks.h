/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the data set for `rubricctl grade`, and says on stderr what is wrong or special with it. */

#include "client/batch/selection.h"
#include "client/grade/dataset.h"
#include "client/grade/tally.h"

#include <stdio.h>

/* What messages call the file at PATH. */
const char *grade_tasks_name(const char *path);

/* Reads the data set at PATH. Complains about each record that cannot be used, and adds how many
 * these are to *UNUSABLE. Names tasks whose tests assert nothing. Negative with FAULT if no task
 * can be used; the caller owns *ret. */
int grade_tasks_read(const char *path, const struct dataset_options *options, struct dataset *ret,
                     uint64_t *unusable, struct fault *fault);

/* Makes of the sample NUMBER of TASK what filters look at. 0 or -ENOMEM. */
int grade_tasks_describe(const struct task *task, uint64_t number, struct submission *ret);

/* Leaves the tasks out of TALLY that have no sample, or none that SELECTION lets pass, and names
 * those that lack one, unless NAME is NULL. Whether there are any of these. */
bool grade_tasks_leave_out(const struct dataset *dataset, const char *name,
                           const struct selection *selection, struct tally *tally);

/* Says which tests were run if the data set has several. */
void grade_tasks_tell_plus(const struct dataset *dataset, const char *name);

/* Writes a line for each format and language: "HumanEvalPack, C++: 164 tasks, ...". LANGUAGE is
 * --language, which may be NULL; TIMEOUT_S --timeout, or 0; DEFAULT_S what the daemon gives code of
 * which neither says it. */
void grade_tasks_announce(FILE *out, const struct dataset *dataset, const char *language,
                          double timeout_s, double default_s);
