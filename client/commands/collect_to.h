/* SPDX-License-Identifier: MIT */
#pragma once
/* Writes the files that came back with a result below a directory. The names come from the job,
 * which is untrusted: no link is followed, and nothing is written outside of the directory. */

#include "proto/fault.h"

#include <jansson.h>
#include <stdbool.h>

/* Writes the `files` of RESULT below DIRECTORY, which it makes if it is not there. A file that is
 * there is replaced. 0, or a negative errno with FAULT; then some may be written. */
int collect_to(const json_t *result, const char *directory, struct fault *fault);

/* Writes the files of RESULT below DIRECTORY (NULL: nowhere), and complains of those that did not
 * come, unless QUIET, and of one that cannot be written. Returns false for the latter. */
bool collect_keep(const json_t *result, const char *directory, bool quiet);
