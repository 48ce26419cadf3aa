/* SPDX-License-Identifier: MIT */
#pragma once
/* The list of a rubric's files, as text. Its SHA-256 is the digest of the rubric's directory. Pure.
 *
 *     rubric-directory 1
 *     8f434346...27aa4 1024 - helpers/parse.py
 *     ba7816bf...015ad 3 x rubric.py
 *
 * A line for each file: the SHA-256 of its contents, its size in bytes, `x` if anybody may execute
 * it and `-` if not, and its name from the rubric's directory on. The names are in the order of
 * their bytes. */

#include "bounds.h"

#include "proto/bytes.h"
#include "proto/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct manifest_file {
    char *name; /* owned */
    char digest[RUBRICDIR_DIGEST_SIZE];
    uint64_t size; /* bytes */
    bool is_executable;
};

struct manifest {
    struct manifest_file *files;
    size_t n;
    uint64_t bytes; /* of all files */
};

#define MANIFEST_NULL \
    {                 \
        .files = NULL \
    }

void manifest_deinit(struct manifest *manifest);
#define _cleanup_manifest_ _cleanup_(manifest_deinit)

/* Whether NAME may be a file's: relative, no empty part and none that is `.` or `..`, no control
 * characters, not longer than RUBRICDIR_NAME_MAX. */
bool manifest_is_name(const char *name);

/* Whether TEXT is a digest: 64 hexadecimal digits in lower case. */
bool manifest_is_digest(const char *text);

/* Writes the text of the N files, which are in order. 0 or -ENOMEM. */
int manifest_print(const struct manifest_file *files, size_t n, struct bytes *ret);

/* Digests the N bytes of a manifest's text. */
void manifest_digest(const char *text, size_t n, char ret[RUBRICDIR_DIGEST_SIZE]);

/* Reads what manifest_print() writes, and nothing else. -EINVAL with FAULT, also if a bound of
 * bounds.h is exceeded; -ENOMEM. */
int manifest_parse(const char *text, size_t n, struct manifest *ret, struct fault *fault);
