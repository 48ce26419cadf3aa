/* SPDX-License-Identifier: MIT */
#pragma once
/* What clients ask for: submit, cancel, status, ping, drain, reload. Part of the supervisor. */

#include "state.h"

/* The connections' callbacks; their userdata is the supervisor. */
extern const struct conn_ops requests_conn_ops;

/* A client has connected; takes FD. */
void requests_accept(int fd, void *userdata);

/* Lets clients whose job waits for room in the queue go on, oldest first. */
void requests_resume(struct supervisor *supervisor);

/* Answers everything that is queued or waits to be with `draining`. */
void requests_refuse_queued(struct supervisor *supervisor);
