/* SPDX-License-Identifier: MIT */
#pragma once
/* The bounded pool of slots and its dispatcher: whenever a slot is idle and the queue has an entry
 * that may run, the two are brought together. Where all are busy, a slot whose jobs are quick gets
 * one ahead.
 *
 * The pool grows and shrinks while it works. A surplus slot without a job is stopped at once; one
 * with a job is "retiring": it finishes that job, then goes, unless the pool grows again before. A
 * slot that has stopped is freed from the event loop (pool_reap), not from its own callback. */

#include "queue.h"
#include "slot.h"

struct pool_ops {
    /* Starts the job of ENTRY, which has left the queue, on SLOT with slot_run(), or answers it
     * otherwise. */
    void (*launch)(struct slot *slot, struct queue_entry *entry, void *userdata);
    /* A job that was launched on another slot and waited there is SLOT's now. */
    void (*moved)(struct slot *slot, void *owner, void *userdata);
    void (*started)(struct slot *slot, void *owner, void *userdata);
    void (*done)(struct slot *slot, void *owner, const struct slot_result *result, void *userdata);
    /* A slot has stopped: pool_reap() is due, from the event loop. */
    void (*stopped)(void *userdata);
};

struct pool {
    struct slot_config slot_config;
    struct slot_tally tally;
    struct slot **slots; /* owned; with those that are on their way out */
    unsigned slot_count;
    struct queue *queue;
    const struct pool_ops *ops;
    void *userdata;
    bool stopping;
    uint64_t dispatched; /* entries, since the start */
};

struct pool_config {
    struct event_base *base;
    struct log *log;
    struct confinement *confinement; /* of the jails; the pool has its own reference */
    const struct cgroup_tree *cgroups;
    const char *work_directory;
    int work_directory_fd;
    unsigned slot_count;
    struct queue *queue; /* borrowed, as the others */
    const struct pool_ops *ops;
    void *userdata;
};

/* Starts the jails. POOL must not move afterwards. */
int pool_init(struct pool *pool, const struct pool_config *config);

/* Gives queued entries to idle slots. */
void pool_dispatch(struct pool *pool);

/* How many slots have a job, those that are retiring among them. */
unsigned pool_busy(const struct pool *pool);

/* How many slots there are but for those that are on their way out. */
unsigned pool_size(const struct pool *pool);

/* How many of them have a last job. */
unsigned pool_retiring(const struct pool *pool);

/* Whether there is an idle slot and an entry that may run. From the event loop that is so for no
 * longer than until the next dispatch. */
bool pool_can_dispatch(const struct pool *pool);

/* Whether a job runs SLACK_MS after its deadline. */
bool pool_is_overdue(const struct pool *pool, uint64_t slack_ms);

/* Whether there is no slot whose jail works, or may come up at the first try. */
bool pool_has_no_jail(const struct pool *pool);

/* Whether SLOT has a job or may get one: a surplus one that is only being stopped is none. */
bool pool_shows(const struct slot *slot);

/* Grows or shrinks to SIZE slots. No job is disturbed. Not from a slot's callback. 0; or, where a
 * slot could not be made, a negative errno, and the size is as it was. */
int pool_resize(struct pool *pool, unsigned size);

/* Jails that are started from now on, but for jobs that want another, are of CONFINEMENT; idle ones
 * are replaced at once. Not from a slot's callback. */
void pool_set_confinement(struct pool *pool, struct confinement *confinement);

/* Frees slots that have stopped. */
void pool_reap(struct pool *pool);

/* Ends all jails; jobs that run are killed with them. */
void pool_stop(struct pool *pool);

/* Whether every jail is gone. */
bool pool_is_stopped(const struct pool *pool);

void pool_deinit(struct pool *pool);
