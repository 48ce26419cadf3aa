/* SPDX-License-Identifier: MIT */
#pragma once
/* The bounded pool of slots and its dispatcher: whenever a slot is idle and the queue has an entry
 * that may run, the dispatcher launches the entry on the slot. Where all slots are busy, one whose
 * jobs are quick gets a job ahead.
 *
 * Duty of this room: to run admitted jobs (`launch`, opaque owners) in jails under their limits, in
 * the order of the queue, and to report how they ended (`result`). The room does not know what a
 * job means. queue orders; pool dispatches; slot takes a job through its jail; slot_jail and
 * slot_job keep the states of jail and job; packet sends a job to its jail; capture reads its
 * output; job_cgroup owns its cgroup.
 *
 * May include: confine, cgroup, log, jail (link.h, the link and its kinds of notice, children.h
 * and disk.h), base, and proto.
 *
 * Invariants:
 *  - An entry is in the queue, or its job is on exactly one slot, or it was given back by `done`.
 *  - Each state has one function that changes it and asserts the transition: slot_enter(), the
 *    enter() of slot_jail and slot_job, the lane's in queue.c, set_membership() here.
 *  - Nothing is freed inside its own callback. A slot that has stopped is freed from the event loop
 *    (pool_reap).
 *
 * Sessions. A session has a slot of its own in the pool, beside those that take jobs, with a jail
 * that runs its commands and nothing else. A command takes the turn of an idle slot: that slot is
 * lent to the session, and idles until the command is over. So at no time run more programs for
 * clients than there are slots, and what the queue does for jobs it does for commands.
 *
 * The pool grows and shrinks while it works. A surplus slot without a job is stopped at once; one
 * with a job is "retiring": it finishes that job, then goes, unless the pool grows again before. */

#include "queue.h"
#include "slot_view.h"

struct pool_ops {
    /* Starts the job of ENTRY, which has left the queue, on SLOT with slot_run(), or answers it
     * otherwise. */
    void (*launch)(struct slot *slot, struct queue_entry *entry, void *userdata);
    /* The job of OWNER, which was launched on another slot and waited there, is on SLOT now. */
    void (*moved)(struct slot *slot, void *owner, void *userdata);
    /* The program of OWNER's job runs, since STARTED_NS (CLOCK_MONOTONIC). */
    void (*started)(struct slot *slot, void *owner, uint64_t started_ns, void *userdata);
    /* The program of OWNER's job, which streams, has written N bytes of DATA. */
    void (*output)(struct slot *slot, void *owner, bool is_stderr, const char *data, size_t n,
                   void *userdata);
    /* The terminal of OWNER's job has taken N bytes of what was typed. */
    void (*taken)(struct slot *slot, void *owner, size_t n, void *userdata);
    /* The job is over; OWNER is the caller's again. */
    void (*done)(struct slot *slot, void *owner, const struct slot_result *result, void *userdata);
    /* A slot takes a job, has failed at a jail, or is that of a session and has lost its jail:
     * pool_dispatch(), pool_why_no_jail() and slot_has_lost_jail() are due, from the event loop. */
    void (*idle)(void *userdata);
    /* A slot has stopped: pool_reap() is due, from the event loop. */
    void (*stopped)(void *userdata);
};

/* The state of a slot, as the pool sees it. */
enum pool_membership {
    POOL_ACTIVE,   /* counts for the size */
    POOL_RETIRING, /* surplus: is stopped once its job is over, unless it becomes active again */
    POOL_RETIRED,  /* surplus, and stopping */
    POOL_CLOSING,  /* stopping because the pool is, or its session ends */
    POOL_SESSION,  /* the slot of a session; does not count */
};

struct pool_slot {
    struct slot slot;
    enum pool_membership membership;
    const struct slot *lent_to;  /* of the session that has its turn; NULL: it is not lent */
    struct slot_config *session; /* of the slot of a session, owned; NULL: it is none */
};

struct pool {
    struct slot_config slot_config;
    struct slot_tally tally;
    struct pool_slot **slots; /* owned; including those that are on their way out */
    unsigned slot_count;
    struct queue *queue;
    const struct pool_ops *ops;
    void *userdata;
    bool stopping;
    uint64_t dispatched; /* entries, since the start */
    struct class_failures failures;
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

/* Whether a slot with membership FROM may pass to TO. */
bool pool_may_become(enum pool_membership from, enum pool_membership to);

/* Starts the jails. POOL must not move afterwards. On failure a negative errno; pool_deinit() is
 * still the caller's to call. */
int pool_init(struct pool *pool, const struct pool_config *config);

/* Launches the queue's next entry on an idle slot, or else ahead on a busy one. Returns whether it
 * did. The caller admits those who wait for room before the next call, so that no user loses a turn
 * because his next job was not queued yet. */
bool pool_dispatch(struct pool *pool);

/* Sees to it that LAUNCH, which SLOT is to run, asks its jail for no template that cannot be had:
 * because the class could not be loaded lately, or the templates of the other slots leave none of
 * BYTES_MAX bytes. */
void pool_settle_class(const struct pool *pool, const struct slot *slot, struct launch *launch,
                       uint64_t bytes_max);

/* Notes what became of the class of a job that has ended with RESULT. */
void pool_note_class(struct pool *pool, const struct slot_result *result);

/* How many slots have a job, those that are retiring among them. */
unsigned pool_busy(const struct pool *pool);

/* How many slots there are, without those that are on their way out. */
unsigned pool_size(const struct pool *pool);

/* How many surplus slots still have a job. */
unsigned pool_retiring(const struct pool *pool);

/* Whether there is an idle slot and an entry that may run. The next dispatch ends that. */
bool pool_can_dispatch(const struct pool *pool);

/* Whether a job runs SLACK_MS after its deadline. */
bool pool_is_overdue(const struct pool *pool, uint64_t slack_ms);

/* Whether every slot failed in its last attempt at a jail. */
bool pool_has_no_jail(const struct pool *pool);

/* Why no job can be run: every slot has failed in SLOT_ATTEMPTS attempts at a jail, for 6 seconds
 * or longer. NULL if one has not. The slots go on trying. */
const char *pool_why_no_jail(const struct pool *pool);

/* Calls BEFORE with the owner of each job that a slot has, and cancels the job then. */
void pool_cancel_all(struct pool *pool, void (*before)(void *owner));

/* Describes the slots one by one: *AT, 0 at first, is advanced. False after the last one. A surplus
 * slot that is only being stopped is left out. */
bool pool_look(const struct pool *pool, unsigned *at, struct slot_view *ret);

/* Counts of events of jails, since the start. */
const struct slot_tally *pool_tally(const struct pool *pool);

/* Whether SLOT, if its job gave it back, would be taken by others before that job, an entry of
 * LANE: they wait, and no other slot is idle. */
bool pool_others_wait(const struct pool *pool, const struct slot *slot,
                      const struct queue_lane *lane);

/* Entries that were dispatched, since the start. Each turn of a job counts. */
uint64_t pool_dispatched(const struct pool *pool);

/* Grows or shrinks to SIZE slots without disturbing a job. Must not be called from a slot's
 * callback. On failure (a slot cannot be made) a negative errno, and the size is as it was. */
int pool_resize(struct pool *pool, unsigned size);

/* Starts jails of CONFINEMENT from now on, except for jobs that want another, and replaces idle
 * ones at once. Takes a reference. Must not be called from a slot's callback. */
void pool_set_confinement(struct pool *pool, struct confinement *confinement);

/* Makes a slot for a session in a jail of CONFINEMENT (referenced). A negative errno on failure. */
int pool_open_session(struct pool *pool, struct confinement *confinement, struct slot **ret);

/* Stops the slot of a session, whose command is over; pool_reap() frees it when slot_is_stopped().
 * May be called again. */
void pool_close_session(struct pool *pool, struct slot *slot);

/* Lends SLOT, which pool_dispatch() has chosen, to the session on TO for the length of the command
 * that TO was given. */
void pool_lend(struct pool *pool, struct slot *slot, const struct slot *to);

/* Frees the slots that have stopped. Must not be called from a slot's callback. */
void pool_reap(struct pool *pool);

/* Ends all jails; jobs that run are killed with them. */
void pool_stop(struct pool *pool);

/* Whether every jail is gone. */
bool pool_is_stopped(const struct pool *pool);

void pool_deinit(struct pool *pool);
