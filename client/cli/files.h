/* SPDX-License-Identifier: MIT */
#pragma once
/* What options name on disk. */

#include "proto/json.h"

/* Reads all of the file at PATH ("-": standard input), at most MAX bytes. Negative errno with
 * FAULT. */
int file_read_all(const char *path, size_t max, struct bytes *ret, struct fault *fault);

/* Whether the file at PATH ("-": standard input) can be read: better known before the first job has
 * run. Negative errno with FAULT. */
int file_check_readable(const char *path, struct fault *fault);

/* The JSON object in the file at PATH, or in SOURCE itself where that begins with "{". Negative
 * with FAULT, which names WHAT. */
int file_read_object(const char *source, const char *what, json_t **ret, struct fault *fault);

/* The absolute path of a bench root, to be freed. NULL stays NULL. Negative with FAULT. */
int file_resolve_bench_root(const char *path, char **ret, struct fault *fault);
