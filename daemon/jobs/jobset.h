/* SPDX-License-Identifier: MIT */
#pragma once
/* The unfinished jobs of a connection, in the order of their submission and by their ids. Each id
 * is in a set at most once. Finding, adding and removing one of a hundred thousand jobs costs
 * little more than one of ten, whatever ids the client chooses. */

#include "job.h"

void job_set_init(struct job_set *set);

/* Returns the job with ID, NULL if there is none. */
struct job *job_set_find(const struct job_set *set, const struct bytes *id);

/* Adds a job that is in no set and whose id is not in SET. 0 or -ENOMEM. */
int job_set_add(struct job_set *set, struct job *job);

/* Takes out a job that is in SET. */
void job_set_remove(struct job_set *set, struct job *job);

/* How many jobs are in SET; counts them. */
size_t job_set_size(const struct job_set *set);

/* How many jobs of SET are on a slot. */
static inline unsigned job_set_running(const struct job_set *set)
{
    return set->running;
}
