/* SPDX-License-Identifier: MIT */
#pragma once
/* Strict reading of JSON on top of jansson; printer.h writes it. */

#include "bytes.h"
#include "fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Deepest nesting that is read; the outermost object counts as 1. */
#define JSON_DEPTH_MAX 200

/* Reads one JSON object of exactly N bytes: no trailing bytes, no duplicate key, nesting at most
 * JSON_DEPTH_MAX, no NaN, infinity or overflowing number, valid UTF-8. \u0000 is kept in strings;
 * in an object's key jansson does not support it and it is refused.
 * -EBADMSG: the bytes are not JSON by these rules; -EINVAL: JSON, but not an object. FAULT says
 * which and where. -ENOMEM. The caller owns *ret. */
int json_read_object(const char *text, size_t n, json_t **ret, struct fault *fault);

/* A JSON string from arbitrary bytes, ill-formed UTF-8 replaced. NULL when memory runs out. */
json_t *json_text(const char *bytes, size_t n);

/* "an object", "a string", ...: for messages. */
const char *json_type_name(const json_t *value);

static inline void json_decref_pointer(json_t **value)
{
    json_decref(*value);
}
#define _cleanup_json_ _cleanup_(json_decref_pointer)
