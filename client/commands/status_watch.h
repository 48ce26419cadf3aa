/* SPDX-License-Identifier: MIT */
#pragma once
/* rubricctl status --watch: asks for the status periodically and shows it. */

#include "client/cli/exitstatus.h"
#include "client/connection/session.h"

#include <stdbool.h>

/* Shows the status every SECONDS until a signal or, on a terminal, q ends it; reconnects to a
 * daemon that goes away. SESSION is connected. Prints each status as one line with JSON, as a page
 * that is redrawn in place on a terminal, and otherwise as a page with an empty line behind it.
 * Returns the command's exit status. */
enum exit_status status_watch(struct session *session, long seconds, bool json);
