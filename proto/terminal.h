/* SPDX-License-Identifier: MIT */
#pragma once
/* Decoders of what requests say about a job's terminal. Private to proto/. Each fails with FAULT;
 * what it has made is then still the caller's to free. */

#include "jobfields.h"

/* The field PATH of a job, an object. */
int terminal_decode(const json_t *object, const char *path, struct job_terminal *ret,
                    struct fault *fault);

/* ROWS and COLUMNS, integers. */
int terminal_decode_size(const json_t *rows, const json_t *columns, const char *path,
                         struct terminal_size *ret, struct fault *fault);

/* The number of a job. */
int terminal_decode_job(const json_t *value, uint64_t *ret, struct fault *fault);

/* What is typed: bytes in base64. */
int terminal_decode_input(const json_t *value, struct bytes *ret, struct fault *fault);
