/* SPDX-License-Identifier: MIT */
#pragma once
/* Decoders that the job kinds and request.c share. Private to proto/. */

#include "jobkinds.h"
#include "utf8.h"

#include <string.h>

/* The first fields of every kind's table; request.c decodes them. */
enum {
    JOB_FIELD_KIND,
    JOB_FIELD_PRIORITY,
    JOB_FIELD_LIMITS,
    JOB_FIELDS_COMMON,
};

/* clang-format off */
#define JOB_FIELDS_COMMON_ENTRIES                                  \
    [JOB_FIELD_KIND] = {"kind", FIELD_TEXT, FIELD_REQUIRED},       \
    [JOB_FIELD_PRIORITY] = {"priority", FIELD_INTEGER, FIELD_NULLABLE}, \
    [JOB_FIELD_LIMITS] = {"limits", FIELD_OBJECT, FIELD_NULLABLE}
/* clang-format on */

/* The most fields that any kind has. */
#define JOB_FIELDS_MAX 18

/* Arguments for "%.*s" that show the beginning of a client's text in whole characters. */
#define SHOWN_MAX 80
#define SHOWN(text) (int)utf8_cut(text, strlen(text), SHOWN_MAX), text

/* Copies a string without NUL; 0 or -ENOMEM. */
int job_copy_text(const json_t *value, char **ret);

/* Copies a string; 0 or -ENOMEM. */
int job_copy_string(const json_t *value, struct bytes *ret);

/* Decodes an array of strings without NUL into *RET, a NULL-terminated list that is the caller's to
 * free, on failure too. PATH is for FAULT. 0, -EINVAL or -ENOMEM. */
int job_decode_strings(const json_t *array, const char *path, char ***ret, struct fault *fault);

/* Decodes a limit as requests give it (times in seconds) into milliseconds, bytes or a number, and
 * checks it against its ceiling; PATH is for FAULT. 0 or -EINVAL. */
int job_decode_limit(const json_t *value, enum limit limit, const struct limits *ceilings,
                     const char *path, uint64_t *ret, struct fault *fault);

/* Decodes the object `limits` into SPEC, whose kind is set. */
int job_decode_limits(const json_t *object, const struct request_policy *policy,
                      struct job_spec *spec, struct fault *fault);
