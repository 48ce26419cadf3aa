/* SPDX-License-Identifier: MIT */
#pragma once
/* Decoders that the files about kind `sandbox` share. Private to proto/. Each decodes the value of
 * the field PATH of a request, and fails with FAULT. What it has made is the spec's on failure,
 * too.
 */

#include "jobfields.h"

/* The words of a program, which is an absolute path. */
int sandbox_decode_argv(const json_t *array, const char *path, char ***ret, struct fault *fault);

/* The field `steps`. The limits of SPEC are set; a step's begin with these. */
int sandbox_decode_steps(const json_t *array, const struct request_policy *policy,
                         struct job_spec *spec, struct fault *fault);
