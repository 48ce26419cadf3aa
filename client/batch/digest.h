/* SPDX-License-Identifier: MIT */
#pragma once
/* SHA-256 of JSON in one canonical form, and of files: 64 hexadecimal digits. */

#include "proto/json.h"

#define DIGEST_SIZE 65 /* with the NUL */

/* Of VALUE as compact JSON with sorted keys. 0 or -ENOMEM. */
int digest_json(const json_t *value, char ret[DIGEST_SIZE]);

/* Of the regular file at PATH. Negative errno; -ENOTSUP where it is none. */
int digest_file(const char *path, char ret[DIGEST_SIZE]);

/* The first 64 bits of one; 0 where TEXT is no digest. */
uint64_t digest_head(const char *text);
