/* SPDX-License-Identifier: MIT */
#pragma once
/* The files of the checker (checker/), which are part of this program. */

#include <stddef.h>

struct checker_file {
    const char *name; /* in the working directory of a job */
    const unsigned char *data;
    size_t length;
};

extern const struct checker_file checker_files[];
extern const size_t checker_file_count;
