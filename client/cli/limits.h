/* SPDX-License-Identifier: MIT */
#pragma once
/* --limit NAME=VALUE, with durations and sizes as in the configuration. */

#include "options.h"

#include "proto/json.h"

/* Puts LIST into `limits` of JOB, unless it is empty. -EINVAL with FAULT, -ENOMEM. */
int limits_add(json_t *job, const struct text_list *list, struct fault *fault);
