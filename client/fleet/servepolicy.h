/* SPDX-License-Identifier: MIT */
#pragma once
/* What `fleet serve` checks of a request before it is queued: what the hello of the fleet says. */

#include "proto/request.h"

/* Makes the policy of a daemon that says HELLO. What no hello tells, it allows or leaves to the
 * daemon that gets the job. */
void servepolicy_make(const json_t *hello, struct request_policy *ret);

/* Returns why a fleet cannot do what MESSAGE asks for, though a daemon could; NULL: it can. */
const char *servepolicy_refusal(const json_t *message);
