/* SPDX-License-Identifier: MIT */
#pragma once
/* The bounded pool of slots and its dispatcher: whenever a slot is idle and the queue has an entry
 * that may run, the two are brought together. */

#include "queue.h"
#include "slot.h"

struct pool_ops {
    /* Starts the job of ENTRY, which has left the queue, on SLOT with slot_run(), or answers it
     * otherwise. */
    void (*launch)(struct slot *slot, struct queue_entry *entry, void *userdata);
    void (*started)(struct slot *slot, void *owner, void *userdata);
    void (*done)(struct slot *slot, void *owner, const struct slot_result *result, void *userdata);
    /* After pool_stop(): all jails are gone. */
    void (*stopped)(void *userdata);
};

struct pool {
    struct slot_config slot_config;
    struct slot *slots;
    unsigned slot_count;
    struct queue *queue;
    const struct pool_ops *ops;
    void *userdata;
    bool stopping;
};

struct pool_config {
    struct event_base *base;
    struct log *log;
    struct jailproc_config jail;
    const struct jail_shape *shape, *networked_shape; /* see slot.h */
    const struct cgroup_tree *cgroups;
    unsigned cpu_percent;
    const char *work_directory;
    int work_directory_fd;
    unsigned slot_count;
    struct queue *queue; /* borrowed, as all of these */
    const struct pool_ops *ops;
    void *userdata;
};

/* Starts the jails. POOL must not move afterwards. */
int pool_init(struct pool *pool, const struct pool_config *config);

/* Gives queued entries to idle slots. */
void pool_dispatch(struct pool *pool);

/* How many slots have a job. */
unsigned pool_busy(const struct pool *pool);

/* Ends all jails; jobs that run are killed with them. */
void pool_stop(struct pool *pool);

/* Whether every jail is gone. */
bool pool_is_stopped(const struct pool *pool);

void pool_deinit(struct pool *pool);
