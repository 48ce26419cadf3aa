/* SPDX-License-Identifier: MIT */
#pragma once
/* Files of results into memory, line by line. */

#include "runreport.h"

/* Reads the N FILES (borrowed; "-": standard input) into RESULTS and says on stderr which lines
 * cannot be used. *RET_FILES, to be freed, tells how many there were of each. 0; -EIO where a file
 * could not be opened or there is no result in all of them, after it has said so; -ENOMEM. */
int load_results(const char *const *files, size_t n, struct results *results,
                 struct runreport_file **ret_files);
