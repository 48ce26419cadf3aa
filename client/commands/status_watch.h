/* SPDX-License-Identifier: MIT */
#pragma once
/* rubricctl status --watch: asks for the status again and again, and shows it. */

#include "client/cli/exitstatus.h"
#include "client/connection/session.h"

#include <stdbool.h>

/* Until it is interrupted or, on a terminal, q is pressed; a daemon that goes away is waited for.
 * SESSION is connected. With JSON each status is printed as a line; without it, and where standard
 * output is no terminal, as a page with an empty line behind it. */
enum exit_status status_watch(struct session *session, long seconds, bool json);
