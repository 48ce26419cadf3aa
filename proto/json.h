/* SPDX-License-Identifier: MIT */
#pragma once
/* Strict reading of JSON on top of jansson; printer.h writes it. */

#include "bytes.h"
#include "fault.h"
#include "json_parse.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads one JSON object of exactly N bytes. Refuses trailing bytes, duplicate keys, nesting deeper
 * than JSON_DEPTH_MAX, NaN, infinity, numbers that overflow, and ill-formed UTF-8. Keeps \u0000 in
 * strings and refuses it in keys, where jansson does not support it.
 * 0; -EBADMSG if the bytes are not JSON by these rules or -EINVAL if they are JSON but not an
 * object, with FAULT saying what and where; -ENOMEM. The caller owns *ret. */
int json_read_object(const char *text, size_t n, json_t **ret, struct fault *fault);

/* The same, but also refuses a text whose values would take more than MAX_OVERHEAD bytes besides
 * their text, by an estimate that is never too low and is made before anything is allocated. Sets
 * *PLACES (json_parse.h), which borrows TEXT and may be NULL, and if it returns -EBADMSG *ret_at to
 * the offset behind what is wrong. */
int json_read_bounded(const char *text, size_t n, size_t max_overhead, json_t **ret,
                      struct json_places *places, size_t *ret_at, struct fault *fault);

/* Makes a JSON string of arbitrary bytes, with U+FFFD for ill-formed UTF-8. NULL when memory runs
 * out. */
json_t *json_text(const char *bytes, size_t n);

/* Returns "an object", "a string", ...: for messages. */
const char *json_type_name(const json_t *value);
