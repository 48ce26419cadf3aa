/* SPDX-License-Identifier: MIT */
#pragma once
/* Decides which daemon a command talks to, and connects.
 *
 * Room client/connection: the way to the daemon: sockets, private daemons, frames, messages,
 * reconnecting, signals while waiting. It may include client/cli, client/terminal, conf and proto;
 * it knows requests only as text, and jobs not at all.
 *
 * Invariants:
 *  - No read or write blocks; a caller polls, or waits with a deadline in session_wait().
 *  - A session owns its descriptor and its private daemon, and ends both in session_deinit().
 *  - Any message that reaches a caller has the fields that its type requires (message.h). */

#include "session.h"

#include "client/cli/exitstatus.h"
#include "client/cli/options.h"

enum connect_policy {
    CONNECT_OR_START, /* if nobody names a socket and none is at the default path, start a private
                       * daemon and say so */
    CONNECT_ONLY,     /* start a private daemon only with --embedded */
};

/* Opens a session as GLOBALS say and waits for the daemon's hello. Returns 0, or a negative errno
 * after a complaint on stderr that names the cause and the remedy. */
int connect_session(const struct globals *globals, enum connect_policy policy, struct session *ret);

/* The same. SET, which may be NULL, is a further setting NAME=VALUE of a daemon that is started. */
int connect_session_with(const struct globals *globals, enum connect_policy policy, const char *set,
                         struct session *ret);

/* The exit status for R, a negative result of these two: a mistake in the file of --config is wrong
 * usage. */
static inline enum exit_status connect_status(const struct globals *globals, int r)
{
    return r == -ENOEXEC && globals->config ? STATUS_USAGE : STATUS_NO_DAEMON;
}
