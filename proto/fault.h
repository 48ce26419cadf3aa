/* SPDX-License-Identifier: MIT */
#pragma once
/* A message for people that says what is wrong and where: "job.targets[2]: expected a string". */

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

/* Writes the message, cut to FAULT_MAX bytes at a whole UTF-8 character. Returns -EINVAL, so that a
 * decoder can end with `return fault_set(...)`. FAULT may be NULL. */
_printf_(2, 3) int fault_set(struct fault *fault, const char *format, ...);
