/* SPDX-License-Identifier: MIT */
#pragma once
/* The files of daemon/checker/, embedded in this program. */

#include <stddef.h>

struct checker_file {
    const char *name; /* relative to the job's work directory */
    const unsigned char *data;
    size_t length;
};

extern const struct checker_file checker_files[];
extern const size_t checker_file_count;
