/* SPDX-License-Identifier: MIT */
#pragma once
/* --limit NAME=VALUE, with durations and sizes written as in the configuration. */

#include "options.h"

#include "proto/json.h"

/* Puts each NAME=VALUE of LIST into the object `limits` of JOB; does nothing if LIST is empty.
 * Returns 0, -EINVAL with FAULT, or -ENOMEM. */
int limits_add(json_t *job, const struct text_list *list, struct fault *fault);
