/* SPDX-License-Identifier: MIT */
#pragma once
/* Serves what clients request: submit, cancel, put, status, metrics, ping, drain, reload. Admits
 * jobs, and parks connections whose next job the queue has no room for. */

#include "state.h"

/* The connections' callbacks; their userdata is the supervisor. */
extern const struct conn_ops requests_conn_ops;

/* Serves a client that has connected on FD (taken), or refuses one too many. */
void requests_accept(int fd, void *userdata);

/* Unparks connections for whose job the queue has room, oldest first. Where jobs are refused it
 * unparks all of them. Returns false once that has taken as long as it may in one turn of the event
 * loop: then it is to be called again in the next one. */
bool requests_resume(struct supervisor *supervisor);

/* Answers every queued job with an error. A parked job goes the same way, by the queue or at once.
 * A drain SPARES the commands of sessions, and the jobs that wait for their next turn: these have
 * the grace period. */
void requests_refuse_queued(struct supervisor *supervisor, bool spares, enum error_code code,
                            const char *message);
