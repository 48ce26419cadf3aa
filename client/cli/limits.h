/* SPDX-License-Identifier: MIT */
#pragma once
/* --limit NAME=VALUE, with durations and sizes written as in the configuration. */

#include "options.h"

#include "proto/json.h"
#include "proto/limits.h"

/* The help of --limit: each limit with a value in its syntax. */
#define LIMITS_EXAMPLE_TIME "=1.5s"
#define LIMITS_EXAMPLE_BYTES "=64M"
#define LIMITS_EXAMPLE_NUMBER "=64"
#define LIMITS_EXAMPLE_(ID, name, key, unit, low, high, ceiling, separator, B) \
    separator key LIMITS_EXAMPLE_##unit
#define LIMITS_HELP                                             \
    "set a limit: " LIMIT_ROW_WALL_CLOCK(LIMITS_EXAMPLE_, "", ) \
        LIMIT_ROWS_OTHER(LIMITS_EXAMPLE_, ", ", ) "; may be repeated"

/* Adds each NAME=VALUE of LIST to the object `limits` of JOB; does nothing if LIST is empty.
 * Refuses two that set one limit to different values. Returns 0, -EINVAL with FAULT, or -ENOMEM. */
int limits_add(json_t *job, const struct text_list *list, struct fault *fault);

/* Adds VALUE of the option of that name as the limit KEY, likewise; does nothing if VALUE is NULL.
 * LIST holds what --limit gives, with which it may not disagree; NULL: the command has no --limit.
 */
int limits_add_option(json_t *job, const char *option, const char *key, const char *value,
                      const struct text_list *list, struct fault *fault);
