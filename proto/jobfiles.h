/* SPDX-License-Identifier: MIT */
#pragma once
/* Decodes the files that a job puts into its work directory, and other content that may be binary.
 * Private to proto/. */

#include "jobfields.h"

/* A file takes whole pages of the disk limit, as on a tmpfs. */
#define JOB_PAGE ((size_t)4096)
#define WHOLE_PAGES(n) (((n) + JOB_PAGE - 1) / JOB_PAGE * JOB_PAGE)

/* Decodes a string, or {"base64": ...}; PATH is for FAULT. 0, -EINVAL or -ENOMEM. */
int job_decode_content(const json_t *value, const char *path, struct bytes *ret,
                       struct fault *fault);

/* Decodes OBJECT, {name: content}, into *FILES and *COUNT, which are the caller's to free, on
 * failure too. They are in an order in which a directory's content follows it. 0, -EINVAL with
 * FAULT naming the file below PATH, or -ENOMEM. */
int job_decode_files(const json_t *object, const char *path, struct sandbox_file **files,
                     size_t *count, struct fault *fault);

/* Decodes the field `collect`: names and patterns of files that come back. *RET is a
 * NULL-terminated list that is the caller's to free, on failure too. 0, -EINVAL with FAULT, or
 * -ENOMEM. */
int job_decode_collect(const json_t *array, char ***ret, struct fault *fault);

/* Tells whether NAME is relative, in normal form, and within the bounds of a path and its parts. */
bool job_is_file_name(const char *name);

/* Tells whether NAME is OUTER or lies in it. */
bool job_file_lies_in(const char *name, const char *outer);

void job_files_free(struct sandbox_file *files, size_t count);

/* The memory that they take beside their pointer. */
size_t job_files_size(const struct sandbox_file *files, size_t count);

/* The bytes of disk that they take. */
size_t job_files_disk(const struct sandbox_file *files, size_t count);
