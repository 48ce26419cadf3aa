/* SPDX-License-Identifier: MIT */
#pragma once
/* Decodes objects of the files that people write beside a rubric. Pure. */

#include "proto/fields.h"

/* Members of one table. */
#define RUBRIC_FIELDS_MAX 8

/* Decodes OBJECT as fields_decode() does; of a member that TABLE has not, FAULT also says which one
 * may be meant. */
int rubric_fields_decode(const json_t *object, const struct field *table, size_t n,
                         const json_t *values[], struct fault *fault);
