/* SPDX-License-Identifier: MIT */
#pragma once
/* Members of JSON objects as views show them. OBJECT may be NULL or of another type. */

#include <jansson.h>
#include <stdint.h>

/* Returns the integer member NAME; 0 if it is missing or of another type. */
static inline int64_t member_integer(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* Returns the string member NAME, borrowed; "?" if it is missing or of another type. */
static inline const char *member_text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "?";
}
