/* SPDX-License-Identifier: MIT */
#pragma once
/* What classes of jobs have in common, of whatever kind they are (jail/link.h): the digest that is
 * the key of a class, and what the result says of it. */

#include "kind.h"

#include <sha2.h>
#include <stdint.h>

/* Adds to the digest a text with its NUL, and a number. */
void warm_class_add_text(SHA2_CTX *context, const char *text);
void warm_class_add_number(SHA2_CTX *context, uint64_t number);

/* Adds each of the LIMITS that a process is given at its start. */
void warm_class_add_limits(SHA2_CTX *context, const struct limits *limits);

/* The affinity of jobs of which all have these COUNT texts, of which some may be NULL; never 0. */
uint64_t warm_class_affinity(const char *const *texts, size_t count);

/* Enters into *RET what RESULT, of a job that wanted to be of a class, says of that. Borrows from
 * RESULT. */
void warm_class_tell(const struct slot_result *result, struct judgement *ret);
