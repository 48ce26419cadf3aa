/* SPDX-License-Identifier: MIT */
#pragma once
/* Decodes a JSON object by a table of fields. The table is the only place that names them. */

#include "json.h"

enum field_type {
    FIELD_STRING,
    FIELD_TEXT, /* a string without NUL, usable as a C string */
    FIELD_INTEGER,
    FIELD_NUMBER, /* integer or real */
    FIELD_BOOLEAN,
    FIELD_OBJECT,
    FIELD_ARRAY,
    FIELD_ANY, /* the caller checks the type */
};

enum field_presence {
    FIELD_REQUIRED,
    FIELD_OPTIONAL, /* may be absent, may not be null */
    FIELD_NULLABLE, /* null means the same as absent */
};

struct field {
    const char *name;
    enum field_type type;
    enum field_presence presence;
};

/* Room for a JSON path in a message: "job.case.rubric_wall_clock_seconds". */
#define FIELD_PATH_MAX 160

/* Checks OBJECT against the N fields of TABLE. Sets values[i] to the value of field i, borrowed
 * from OBJECT, or to NULL where the field is absent or null. Returns -EINVAL for a missing,
 * mistyped or unknown field; FAULT then names its path, which begins with PATH ("" at the top
 * level). */
int fields_decode(const json_t *object, const char *path, const struct field *table, size_t n,
                  const json_t *values[], struct fault *fault);

/* Checks that VALUE is of TYPE. 0, or -EINVAL with a message that names PATH. */
int field_check_type(const json_t *value, enum field_type type, const char *path,
                     struct fault *fault);

/* Takes item I of LIST, an array at PATH, which must be a text without NUL: *ret_text is borrowed.
 * WHERE becomes the item's path, "PATH[I]", cut to fit. 0, or -EINVAL with a message that names it.
 */
int field_text_at(const json_t *list, size_t i, const char *path, char where[FIELD_PATH_MAX],
                  const char **ret_text, struct fault *fault);

/* Writes PATH "." NAME, or NAME alone where PATH is empty, cut to fit. Shows an empty NAME as "".
 */
void field_path(char out[FIELD_PATH_MAX], const char *path, const char *name);
