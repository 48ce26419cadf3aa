/* SPDX-License-Identifier: MIT */
#pragma once
/* The unfinished jobs of a connection: in the order of their submission, and by their ids, of which
 * each is there once. To find, add and remove one of a hundred thousand costs little more than one
 * of ten, whatever ids the client chooses. */

#include "job.h"

struct job_set {
    struct job_list list;
    void *by_id; /* tsearch(3)'s */
};

void job_set_init(struct job_set *set);

/* NULL if there is none with that id. */
struct job *job_set_find(const struct job_set *set, const struct bytes *id);

/* Adds a job whose id is not there. -ENOMEM. */
int job_set_add(struct job_set *set, struct job *job);

/* Takes out a job that is there. */
void job_set_remove(struct job_set *set, struct job *job);
