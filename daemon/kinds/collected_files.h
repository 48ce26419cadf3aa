/* SPDX-License-Identifier: MIT */
#pragma once
/* Tells a client of the files that were collected from its job. */

#include "kind.h"

/* Prints the files in COLLECTED (pool/collected.h; 0 or less: none) whose names match one of
 * PATTERNS, ordered by name, with contents of at most MAX bytes together; and what is left out, and
 * why. *ret is REPLY_FILES_NULL before. 0, -ENOMEM, -EPROTO if the jail has not written what it
 * should, or another negative errno. ERROR is an errno: why files are missing among them
 * (pool/result.h); 0: none are. */
int collected_files_print(int collected, int error, char *const *patterns, size_t max,
                          struct reply_files *ret);

/* Prints them into the files of JUDGEMENT. A jail that breaks the rules is lost, like one that
 * dies: then the judgement is that there is none. 0 or -ENOMEM. */
int collected_files_tell(int collected, int error, char *const *patterns,
                         struct judgement *judgement);
