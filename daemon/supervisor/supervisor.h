/* SPDX-License-Identifier: MIT */
#pragma once
/* The room: the event loop and everything on it. supervisor.c sets up, stops and tears down;
 * state.h has what the other files share; requests.c serves clients and admits jobs; sessions.c
 * opens and ends sessions, and terminals.c takes what their clients type; dispatch.c takes a job
 * from its launch to its answer; rubrics.c looks for digests of rubrics meanwhile; reload.c
 * replaces the configuration; relieve.c drops clients that read nothing when memory is short;
 * notify.c tells the service manager how the daemon is doing, and service.c speaks the manager's
 * protocols.
 *
 * May include every other room of the daemon; daemon/main.c alone includes it. Within the room
 * supervisor.c is on top: no other file includes supervisor.h.
 *
 * Theory of operation: one thread runs everything on one event loop. A callback that changes what
 * may run or be read next does not act on it, because it may be deep inside another object's
 * callback. It activates the event `turn`, and on_turn() does the deferred work from the loop
 * itself: it frees stopped slots, dispatches queued jobs, unparks connections, and stops the daemon
 * when that is due.
 *
 * A job passes net/conn.c (frames, JSON), requests.c (admission), pool/queue.c and pool/pool.c,
 * which calls dispatch.c to launch it on a slot and again when it is over; dispatch.c then judges,
 * counts, logs, answers and frees it. A job that the queue has no room for is not admitted: its
 * connection is parked, and unparked in turn. dispatch.c activates `turn` after each answer.
 *
 * state_enter() changes the phase of the daemon, always forward:
 *
 *   RUNNING --(a client asks for a drain)--> REFUSING --(event `drain`)--> DRAINING
 *   RUNNING --(SIGTERM, SIGINT, or the single client is gone)------------> DRAINING
 *   DRAINING --(end of the grace period, or a second signal)-------------> KILLING
 *   DRAINING, KILLING --(no job is left)---------------------------------> STOPPING
 *
 * begin_drain() closes the listeners, answers queued jobs and lets running ones end. kill_jobs()
 * ends those that do not. stop_when_idle() says bye to the clients and stops the jails; when both
 * are gone it breaks the loop.
 *
 * Invariants: state_enter() alone changes the phase. A connection is in the list from
 * state_add_conn() to state_remove_conn(), and `conn_count` is the length of that list. Nothing is
 * freed inside its own callback. No job but the commands of sessions is queued once
 * the daemon is DRAINING, and none once it is KILLING. */

#include "state.h"

struct supervisor_options {
    const char *version;
    const struct config_source *source; /* borrowed; NULL: the configuration is not read again */
    int jail_program;                   /* rubricd-jail, open (taken) */
    int warm_program; /* rubricd-jail-warm, open (taken); a negative errno: not installed */
    int serve_fd;     /* serve this connected socket alone (taken); -1: listen */
    struct service_sockets sockets; /* listening (taken); none: bind the configured path */
    bool owns_socket; /* the one listening socket has the configured path: unlink it at the end */
};

/* Starts everything. Takes what CONFIG and OPTIONS own, also on failure. Returns a negative errno
 * with FAULT if something cannot be had; call supervisor_deinit() either way. SUPERVISOR must not
 * move afterwards. */
int supervisor_init(struct supervisor *supervisor, struct config *config,
                    const struct supervisor_options *options, struct fault *fault);

/* Runs the event loop until the daemon has drained. Returns 0, or -EIO if the loop failed. */
int supervisor_run(struct supervisor *supervisor);

void supervisor_deinit(struct supervisor *supervisor);
