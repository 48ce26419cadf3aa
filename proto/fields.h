/* SPDX-License-Identifier: MIT */
#pragma once
/* Decodes a JSON object by a table of fields: the one place that knows a message's names. */

#include "json.h"

enum field_type {
    FIELD_STRING,
    FIELD_TEXT, /* a string without NUL, usable as a C string */
    FIELD_INTEGER,
    FIELD_NUMBER, /* integer or real */
    FIELD_BOOLEAN,
    FIELD_OBJECT,
    FIELD_ARRAY,
    FIELD_ANY, /* what it may be is for the caller to check */
};

enum field_presence {
    FIELD_REQUIRED,
    FIELD_OPTIONAL, /* may be absent, may not be null */
    FIELD_NULLABLE, /* absent and null are the same */
};

struct field {
    const char *name;
    enum field_type type;
    enum field_presence presence;
};

/* Room for a JSON path in a message: "job.case.rubric_wall_clock_seconds". */
#define FIELD_PATH_MAX 160

/* Checks OBJECT against the N fields of TABLE and sets values[i], borrowed from OBJECT, for each;
 * NULL where it is absent (or null and nullable). A missing or mistyped field and a field that the
 * table does not have are -EINVAL with FAULT naming the path, which PATH begins ("" at the top). */
int fields_decode(const json_t *object, const char *path, const struct field *table, size_t n,
                  const json_t *values[], struct fault *fault);

/* Whether VALUE is of TYPE; -EINVAL and a message naming PATH if not. */
int field_check_type(const json_t *value, enum field_type type, const char *path,
                     struct fault *fault);

/* PATH "." NAME, or NAME where PATH is empty; cut to fit. A NAME that is empty is shown as "". */
void field_path(char out[FIELD_PATH_MAX], const char *path, const char *name);
