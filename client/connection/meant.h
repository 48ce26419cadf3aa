/* SPDX-License-Identifier: MIT */
#pragma once
/* Which field or kind of a job a client may have meant by one that the daemon does not know. Pure.
 */

#include <jansson.h>

/* Returns the field that was meant by the one that MESSAGE, the daemon's "job.limits.cpus: unknown
 * field", refuses of JOB, or the kind by the one in "job.kind: unknown kind"; NULL if none is near,
 * or MESSAGE is about something else. */
const char *meant_field(const char *message, const json_t *job);
