/* SPDX-License-Identifier: MIT */
#pragma once
/* JSON with ' for ", which is easier to read in C. */

#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Returns TEXT with " for each '. The caller frees it. */
static inline char *to_json(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *p = copy; (p = strchr(p, '\'')); p++)
        *p = '"';
    return copy;
}

/* Returns the object that TEXT is, to be released; fails the test if it is none. */
static inline json_t *parse(const char *text)
{
    struct fault fault = FAULT_NULL;
    json_t *object = NULL;
    _cleanup_free_ char *json = to_json(text);
    if (json_read_object(json, strlen(json), &object, &fault) != 0)
        fail_msg("the test's own JSON is broken: %.300s: %s", text, fault.text);
    return object;
}
