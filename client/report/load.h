/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads files of results, line by line. */

#include "runreport.h"

/* Reads the N FILES (borrowed; "-" is standard input) into RESULTS, and names on stderr the lines
 * that it cannot use. *RET_FILES, which the caller frees, has the counts of each file. On failure
 * it has printed the reason: -EIO if it found no result or ran into a limit, -ENOMEM. */
int load_results(const char *const *files, size_t n, struct results *results,
                 struct runreport_file **ret_files);
