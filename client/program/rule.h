/* SPDX-License-Identifier: MIT */
#pragma once
/* The rules of --compare, as far as a daemon is not needed to know a wrong one. Pure. */

#include "proto/fault.h"

/* Returns 0, or -EINVAL with a FAULT that says why TEXT is no rule of --compare. */
int rule_check(const char *text, struct fault *fault);
