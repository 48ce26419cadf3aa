/* SPDX-License-Identifier: MIT */
#pragma once
/* Starts a job: steps 1 and 2 of the theory of operation in jail.c. */

#include "jailed.h"

/* Starts the process of the job REQUEST, whose descriptors FDS stay the caller's, with everything
 * that precedes that, and fills JOB. Returns false and sets *ret_error if it fails; something may
 * have been started nevertheless. */
bool spawn_job(struct jail *jail, const struct link_job *request, const int fds[LINK_JOB_FDS],
               struct jailed_job *job, struct lockdown_error *ret_error);
