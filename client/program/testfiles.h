/* SPDX-License-Identifier: MIT */
#pragma once
/* The files of a folder or of a zip archive: their names, and what is in them. */

#include "fewnames.h"

#include "proto/bytes.h"
#include "proto/fault.h"

#include <stdbool.h>
#include <unzip.h>

/* Files of one folder or archive, and how deep they lie. */
#define TEST_FILES_MAX 100000
#define TEST_FILES_DEPTH 8

struct test_files {
    char *path;
    char **names; /* relative to the folder; none has a character below 0x20 */
    size_t n;
    unzFile archive;          /* NULL: it is a folder */
    unz64_file_pos *position; /* of each name in the archive */
    struct few_names passed;  /* what may be a test's, but was not listed */
    struct few_names leaving; /* names of the archive that lead out of it */
};

#define TEST_FILES_NULL \
    {                   \
        .path = NULL    \
    }

/* Lists the files at PATH. Notes those that it passes over, unless they are clearly no tests: names
 * with control characters or too long, links that lead to no file, and folders that lie too deep.
 * Negative errno with FAULT; -EINVAL also if names of an archive lead out of it. */
int test_files_open(const char *path, struct test_files *ret, struct fault *fault);

/* Reads file I. -EFBIG with FAULT if it has more than MAX bytes, however few it says that it has;
 * another negative errno with FAULT. */
int test_files_read(struct test_files *files, size_t i, size_t max, struct bytes *ret,
                    struct fault *fault);

void test_files_deinit(struct test_files *files);
#define _cleanup_test_files_ _cleanup_(test_files_deinit)
