/* SPDX-License-Identifier: MIT */
#pragma once
/* One place in the bounded pool: a jail process, the job that runs in it, its pipes, its clock.
 *
 * Whatever the jail says is checked; whatever it does not do in time ends it, and a new one takes
 * its place. A job is complete when its exit is known and both its pipes are at end of file. */

#include "launch.h"
#include "slot_job.h"

#include "daemon/base/timer.h"
#include "daemon/confine/confinement.h"
#include "daemon/log/log.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum slot_state {
    SLOT_STARTING,  /* the jail was started and has not said that it is ready */
    SLOT_IDLE,      /* ready, no job */
    SLOT_LAUNCHING, /* the job was sent */
    SLOT_RUNNING,   /* its program runs */
    SLOT_ENDING,    /* the program has ended or was killed; the rest is awaited */
    SLOT_DYING,     /* the jail was killed; its exit is awaited */
    SLOT_SWEEPING,  /* the jail is dead; what its job left behind is being killed */
    SLOT_STOPPED,   /* no jail, and none wanted */
};

struct slot;

struct slot_ops {
    /* The program runs. */
    void (*started)(struct slot *slot, void *owner, void *userdata);
    /* The job is over; OWNER is the caller's again and the slot keeps nothing of it. */
    void (*done)(struct slot *slot, void *owner, const struct slot_result *result, void *userdata);
    /* The slot is ready for a job. */
    void (*idle)(struct slot *slot, void *userdata);
    /* Kills children of the supervisor that are no jails; returns how many there were. */
    int (*sweep)(void *userdata);
    /* A stopped slot's jail is gone. */
    void (*stopped)(struct slot *slot, void *userdata);
};

/* Over all slots, since the start. */
struct slot_tally {
    uint64_t jails_started;
    uint64_t jails_lost; /* they died, had to be given up, or could not be started */
};

struct slot_config {
    struct event_base *base;
    struct log *log;
    struct confinement *confinement; /* of jails that no job waits for; the owner may replace it */
    const struct cgroup_tree *cgroups; /* borrowed; without descriptors where there are none */
    const char *work_directory;        /* slot N uses <work_directory>/slot-N */
    int work_directory_fd;             /* the same, borrowed */
    struct slot_tally *tally;          /* borrowed */
    const struct slot_ops *ops;
    void *userdata;
};

struct slot {
    const struct slot_config *config;
    unsigned index;
    enum slot_state state;

    pid_t jail_pid;
    int jail_pidfd, link_fd;
    struct event *jail_event, *link_event;
    struct timer timer;              /* when the state ends at the latest */
    unsigned failed_starts;          /* in a row; the next one waits accordingly */
    unsigned sweeps;                 /* looks since the jail died */
    struct confinement *confinement; /* of the jail, or of the one to come; a reference */
    bool networked;                  /* what its shape is */
    bool stopping;
    bool retiring; /* the pool's: surplus, and to be stopped once its job is over */

    struct slot_job job;  /* pending until there is a jail of the right shape */
    struct slot_job next; /* the one behind it; there is none where the jail is idle */
    bool is_quick;        /* the job before was: its jail told its start and end at once */
    uint64_t deadline_ns; /* of the job */
    int child_pidfd;
    struct event *child_event;
};

/* Starts the slot's first jail. */
int slot_init(struct slot *slot, const struct slot_config *config, unsigned index);

/* Runs a job on a slot that is idle, or takes it behind the one that runs. 0: `done` will be
 * called, later, exactly once. A negative errno: it was not taken and `done` will not be called. */
int slot_run(struct slot *slot, const struct launch *launch, uint64_t job_no, void *owner);

/* Whether a slot that is not idle takes a job ahead. */
bool slot_takes_next(const struct slot *slot);

/* Whether it has a job ahead that its jail has not, and that another slot may take. */
bool slot_holds_next(const struct slot *slot);

/* Whether that one also waits longer than a quick job takes. */
bool slot_delays_next(const struct slot *slot);

/* Gives the job that FROM holds to TO, which is idle or takes one ahead. Returns its owner, NULL if
 * it is over already. */
void *slot_pass_on(struct slot *from, struct slot *to);

static inline bool slot_has_job(const struct slot *slot)
{
    return slot->job.owner || slot->next.owner;
}

/* Replaces an idle jail that is not of the configured confinement. Others are replaced when a job
 * wants another, or when they end. */
void slot_renew(struct slot *slot);

/* Kills the job of OWNER; it ends with SLOT_KILL_CANCELLED unless something else came first. */
void slot_cancel(struct slot *slot, const void *owner);

/* Milliseconds until the job's deadline; 0 if it has none yet or it has passed. */
uint64_t slot_remaining_ms(const struct slot *slot);

/* Ends the jail; `stopped` is called when it is gone. A job that runs is killed with it. */
void slot_stop(struct slot *slot);

/* Frees everything at once; a jail that still runs is killed. */
void slot_deinit(struct slot *slot);
