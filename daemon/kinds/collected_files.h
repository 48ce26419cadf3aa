/* SPDX-License-Identifier: MIT */
#pragma once
/* Tells a client of the files that were collected from its job. */

#include "daemon/pool/collected.h"
#include "daemon/pool/result.h"
#include "proto/reply.h"

/* Prints the files of RESULT whose names match one of PATTERNS, ordered by name, with contents of
 * at most MAX bytes together; and what is left out, and why. *ret is REPLY_FILES_NULL before. 0,
 * -ENOMEM, -EPROTO if the jail has not written what it should, or another negative errno. */
int collected_files_print(const struct slot_result *result, char *const *patterns, size_t max,
                          struct reply_files *ret);
