/* SPDX-License-Identifier: MIT */
#pragma once
/* What a client with a token sees of the daemon's status. Pure. */

#include <jansson.h>

/* Returns STATUS, the daemon's, for the client whose jobs have ids that begin with OWN (NULL: it
 * has none): its own jobs with what people call them, and of the jobs of others only how long they
 * run and may run. Of the rest it has what the list in redact.c names, so a member that a later
 * daemon adds is not shown. A new reference; NULL for lack of memory. */
json_t *redact_status(json_t *status, const char *own);
