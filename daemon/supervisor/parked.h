/* SPDX-License-Identifier: MIT */
#pragma once
/* The requests that wait: for room in the queue, or because something is being found out of the
 * host for them. */

#include "state.h"

/* As the `settle` of kind_ops, for a job of CONN. */
int parked_settle(const struct conn *conn, const struct job_spec *spec,
                  const struct settings *settings, struct fault *fault);

/* Has parked_resume() look at once whether what requests wait for has been found out. */
void parked_look_again(struct supervisor *supervisor);

/* Unparks connections for whose job the queue has room, oldest first. Where jobs are refused it
 * unparks all of them. */
void parked_resume(struct supervisor *supervisor);
