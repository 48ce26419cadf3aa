/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads which task a line of a data set, of samples or of results belongs to. */

#include "proto/json.h"

/* Bytes. An id with the number of a sample appended still fits into a job's id. */
#define TASK_ID_MAX 100

/* Copies OBJECT's `task_id` as text: 2 and "2" are the same task. -EINVAL with FAULT. */
int task_id_of(const json_t *object, char ret[TASK_ID_MAX + 1], struct fault *fault);

/* The same of the member NAME. */
int task_id_in(const json_t *object, const char *name, char ret[TASK_ID_MAX + 1],
               struct fault *fault);
