/* SPDX-License-Identifier: MIT */
#pragma once
/* Which daemon a command talks to. */

#include "session.h"

#include "client/cli/options.h"

enum connect_policy {
    CONNECT_OR_START, /* with nothing at the default socket, a private daemon, and a notice */
    CONNECT_ONLY,     /* a private daemon only with --embedded */
};

/* Opens a session and waits for the hello. 0, or negative errno after it has said on stderr what
 * is wrong and what to do about it. */
int connect_session(const struct globals *globals, enum connect_policy policy, struct session *ret);
