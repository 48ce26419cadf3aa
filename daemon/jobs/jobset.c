/* SPDX-License-Identifier: MIT */
#include "jobset.h"

#include "proto/util.h"

#include <assert.h>
#include <search.h>
#include <string.h>

static int compare_ids(const void *first, const void *second)
{
    const struct bytes *a = &((const struct job *)first)->id,
                       *b = &((const struct job *)second)->id;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return a->length > 0 ? memcmp(a->data, b->data, a->length) : 0;
}

void job_set_init(struct job_set *set)
{
    TAILQ_INIT(&set->list);
    set->by_id = NULL;
    set->running = 0;
}

struct job *job_set_find(const struct job_set *set, const struct bytes *id)
{
    const struct job key = {.id = *id};
    void *node = tfind(&key, &set->by_id, compare_ids);
    return node ? *(struct job **)node : NULL;
}

int job_set_add(struct job_set *set, struct job *job)
{
    assert(!job->set && job->place != JOB_ON_SLOT);
    if (!tsearch(job, &set->by_id, compare_ids))
        return -ENOMEM;
    TAILQ_INSERT_TAIL(&set->list, job, of_conn);
    job->set = set;
    return 0;
}

void job_set_remove(struct job_set *set, struct job *job)
{
    assert(job->set == set);
    (void)tdelete(job, &set->by_id, compare_ids);
    TAILQ_REMOVE(&set->list, job, of_conn);
    if (job->place == JOB_ON_SLOT)
        job_set_count(set, -1);
    job->set = NULL;
}

size_t job_set_size(const struct job_set *set)
{
    size_t count = 0;
    const struct job *job;
    TAILQ_FOREACH(job, &set->list, of_conn)
    count++;
    return count;
}
