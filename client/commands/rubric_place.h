/* SPDX-License-Identifier: MIT */
#pragma once
/* Where a task class is: its folder, its name and its bench root. */

#include "proto/fault.h"

#include <stdbool.h>

/* Whether NAME can be that of a task class, as the protocol has it. */
bool rubric_name_is_good(const char *name);

/* Writes PATH without slashes at its end, resolved if it exists, and returns its last part in
 * *RET_NAME. The caller frees *RET_PATH. -EINVAL with FAULT if that part cannot be the name of a
 * task class, -ENOMEM. */
int rubric_place(const char *path, char **ret_path, const char **ret_name, struct fault *fault);
