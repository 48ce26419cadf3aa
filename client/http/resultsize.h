/* SPDX-License-Identifier: MIT */
#pragma once
/* How large the result of a job may become. Pure. */

#include <jansson.h>
#include <stdint.h>

/* Returns the bytes that the text of the result of JOB, a submit's, takes at most. LIMITS is
 * `limits` of the daemon's hello; NULL if it is not known. A job that the daemon will refuse may
 * have any form. */
uint64_t resultsize_most(const json_t *job, const json_t *limits);
