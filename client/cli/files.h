/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the files and folders that options name. */

#include "options.h"

#include "proto/json.h"

/* Reads the whole file at PATH ("-" is standard input); -EFBIG if it has more than MAX bytes.
 * Returns 0 with a NUL behind the bytes in *ret, which the caller frees; negative errno with FAULT.
 */
int file_read_all(const char *path, size_t max, struct bytes *ret, struct fault *fault);

/* Returns CONTENT as requests take it: a string, or {"base64": ...} if it is not UTF-8. NULL for
 * lack of memory. */
json_t *file_content(const struct bytes *content);

/* Returns 0 if the file at PATH ("-" is standard input) can be read, otherwise a negative errno
 * with FAULT. Lets a command fail before its first job has run. */
int file_check_readable(const char *path, struct fault *fault);

/* Reads a JSON object from SOURCE itself if that begins with "{", otherwise from the file that it
 * names ("-" is standard input). Returns 0 with a new reference in *ret; negative errno with FAULT,
 * whose text begins with WHAT. */
int file_read_object(const char *source, const char *what, json_t **ret, struct fault *fault);

/* Resolves PATH to the absolute path of a folder, which the caller frees. NULL stays NULL. Negative
 * errno with FAULT. */
int file_resolve_bench_root(const char *path, char **ret, struct fault *fault);

/* Whether A and B are one file. */
bool file_is_same(const char *a, const char *b);

/* Lists the FILES of results whose lines count together, without a regular file that an earlier
 * name is of, too: it complains about that one, whose samples would count twice. The caller frees
 * *ret. 0 or -ENOMEM. */
int files_once(const struct text_list *files, const char ***ret, size_t *ret_n);
