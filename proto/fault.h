/* SPDX-License-Identifier: MIT */
#pragma once
/* What is wrong and where, for a person: "job.targets[2]: expected a string". */

#include "util.h"

#include <stdarg.h>
#include <stdio.h>

#define FAULT_MAX 512

struct fault {
    char text[FAULT_MAX];
};

#define FAULT_NULL \
    {              \
        .text = "" \
    }

/* Writes the message, cut at FAULT_MAX on a whole UTF-8 character; returns -EINVAL, so that a
 * decoder can end with `return fault_set(...)`. FAULT may be NULL. */
_printf_(2, 3) int fault_set(struct fault *fault, const char *format, ...);
