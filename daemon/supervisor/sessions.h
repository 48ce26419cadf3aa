/* SPDX-License-Identifier: MIT */
#pragma once
/* Opens and ends sessions, and admits their commands. daemon/jobs/session.h has their states, and
 * pool.h says how a command gets its turn.
 *
 * A session ends when its client asks, goes or leaves it idle for too long, when its lease is over,
 * when its jail is lost, and when the daemon stops. Its command is killed then; when that is over
 * the jail is stopped, and when no process and no file is left the client is told. */

#include "state.h"

/* Answers a session_open and a session_close of CONN. */
void sessions_open(struct supervisor *supervisor, struct conn *conn, struct request *request);
void sessions_close(struct supervisor *supervisor, struct conn *conn, struct request *request);

/* The session that the command SPEC of CONN names, ready for it. NULL: answered with an error. */
struct session *sessions_find(struct supervisor *supervisor, struct conn *conn,
                              const struct bytes *id, const struct job_spec *spec);

/* The client of CONN is gone, and all its sessions with it. */
void sessions_orphan(struct supervisor *supervisor, struct conn *conn);

/* Ends all sessions because the daemon stops. */
void sessions_drain(struct supervisor *supervisor);

/* Ends sessions whose jail is lost, and takes ending ones to their end. From the event loop, before
 * pool_reap(). */
void sessions_settle(struct supervisor *supervisor);
