/* SPDX-License-Identifier: MIT */
#pragma once
/* What the decoders of the job kinds share with request.c; for proto/ alone. */

#include "fields.h"
#include "request.h"
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
#define JOB_FIELDS_MAX 16

struct job_kind_decoder {
    const struct field *fields;
    size_t field_count;
    /* Decodes VALUES, one for each of the fields, into SPEC, whose kind, priority and limits are
     * set. On failure SPEC is as good as before for job_spec_free(). */
    int (*decode)(const json_t *const values[], const struct request_policy *policy,
                  struct job_spec *spec, struct fault *fault);
};

extern const struct job_kind_decoder rubric_decoder, sandbox_decoder, code_exec_decoder;

/* A client's text in a message, by "%.*s": its beginning, in whole characters. */
#define SHOWN_MAX 80
#define SHOWN(text) (int)utf8_cut(text, strlen(text), SHOWN_MAX), text

/* A copy of a string without NUL; 0 or -ENOMEM. */
int request_copy_text(const json_t *value, char **ret);

/* A copy of a string; 0 or -ENOMEM. */
int request_copy_string(const json_t *value, struct bytes *ret);

/* A limit as requests give it, checked against its ceiling; PATH is for FAULT. */
int request_decode_limit(const json_t *value, enum limit limit, const struct limits *ceilings,
                         const char *path, uint64_t *ret, struct fault *fault);

void rubric_spec_deinit(struct rubric_spec *spec);
size_t rubric_spec_size(const struct rubric_spec *spec);
void sandbox_spec_deinit(struct sandbox_spec *spec);
size_t sandbox_spec_size(const struct sandbox_spec *spec);
void code_exec_spec_deinit(struct code_exec_spec *spec);
size_t code_exec_spec_size(const struct code_exec_spec *spec);
