/* SPDX-License-Identifier: MIT */
#pragma once
/* SHA-256 of JSON in canonical form, as 64 hexadecimal digits. */

#include "proto/json.h"

#define DIGEST_SIZE 65 /* with the NUL */

/* Digests VALUE as compact JSON with sorted keys. 0 or -ENOMEM. */
int digest_json(const json_t *value, char ret[DIGEST_SIZE]);

/* Returns the first 64 bits of a digest; 0 if TEXT (may be NULL) is not one. */
uint64_t digest_head(const char *text);
