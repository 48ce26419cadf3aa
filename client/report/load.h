/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads files of results, line by line. */

#include "runreport.h"

/* Reads the N FILES ("-" is standard input) into RESULTS. Names on stderr the lines that it cannot
 * use, and files that it cannot read, which are no failure as long as there is a result. *RET_FILES
 * has the counts of each file; the caller frees it, and its names borrow FILES. On failure it has
 * printed the reason: -EIO if there was no result or a bound was met, -ENOMEM. */
int load_results(const char *const *files, size_t n, struct results *results,
                 struct runreport_file **ret_files);
