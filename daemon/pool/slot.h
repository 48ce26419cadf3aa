/* SPDX-License-Identifier: MIT */
#pragma once
/* A slot of the bounded pool: a jail, the job that runs in it, and at most one job behind that.
 *
 * A slot checks whatever its jail says, ends a jail that does not answer in time, and replaces a
 * jail that has died. A job is complete when its exit is known and both its pipes are at end of
 * file.
 *
 * May include: the pool's slot_job, slot_jail, launch and result, and the rooms below the pool.
 *
 * Invariants (slot.c asserts them):
 *  - `state` is changed by slot_enter() alone, along the arrows of slot_may_enter(); `job`, `next`
 *    and `jail` by the functions of slot_job.h and slot_jail.h.
 *  - The jail is up in all states but SLOT_DOWN, or is leaving an idle slot.
 *  - An idle slot has no job, whenever the event loop looks at it.
 *  - Each job that slot_run() accepts, and each step that slot_continue() accepts, is given back
 *    exactly once, by `done`.
 *  - Behind a job of which another step may follow there is that step or nothing. */

/* Theory of operation.
 *
 * A slot has a jail (slot_jail.h), the job that the jail works on, and at most one job behind that
 * (slot_job.h). Each of the three keeps a state of its own. The slot's state says what becomes of
 * the job; slot_enter() alone changes it, along these arrows and no others:
 *
 *             jail up         job sent             started            exited
 *       DOWN --------> IDLE ----------> LAUNCHING --------> RUNNING --------> ENDING
 *         ^             ^ ^  could not start |                                  |
 *         |             | +------------------+       tree, pipes, cgroup gone   |
 *         |             +-------------------------------------------------------+
 *         |
 *         +---- from each of the other four: the jail died, broke a rule, was too slow, is spent,
 *               or is not of the shape that a job wants
 *
 * One timer holds the moment at which the slot stops waiting for what its state waits for:
 *
 *     state      waits for                             until                      and then
 *     DOWN       a jail, which has a timer of its own
 *     IDLE       a job
 *     LAUNCHING  STARTED, ENDED or FAILED of the jail  JAIL_ANSWER_MS, and the    gives up the jail
 *                                                      time to load a class
 *     RUNNING    the program's exit                    the deadline, or CPU time  kills or moves
 *     ENDING     1. ENDED of the jail                  JAIL_CLEAN_UP_MS           gives up the jail
 *                2. end of file on both pipes          END_OF_FILE_MS             closes them
 *                3. an empty cgroup                    JOB_CGROUP_RETRY_MS        looks again
 *
 * The way of a job. An idle slot sends a job to its jail at once. If the job wants a jail of
 * another shape (with the network; of the confinement that was configured when it was admitted), it
 * is pending while the idle jail is killed and one of that shape comes up.
 *
 * One job ahead. Waking the supervisor between two jobs costs as much as a quick job does. So a
 * slot whose last job was quick sends the `next` job to its jail while that still has one. The jail
 * goes on with the next job by itself. When it says that the first has ended, the next becomes the
 * job, LAUNCHING as if it had just been sent. A job that turns out not to be quick must not keep
 * another waiting: its jail tells that it runs, and returns the job that was sent ahead. That job
 * is pending then, until the first one ends or another slot can take it: one that is idle, or one
 * that takes a job ahead itself (the pool passes it on).
 *
 * Steps. A job may have several launches, its steps, one after another. When one is given back,
 * the owner may have the slot go on with the next (slot_continue()), or has sent it ahead before,
 * if it does not depend on how the one before ends. As long as another step may follow, no other
 * job is behind it: so the job keeps its slot, until its owner lets it wait for another (slot_run()
 * takes any step). Its steps share nothing else; each has a cgroup, a
 * deadline and a result of its own.
 *
 * Pipes and cgroups are never reused. A job that is sent again gets new ones: whoever has got hold
 * of the first jail has the write ends of the old pipes.
 *
 * A lost jail. A job that loses its jail is given back only when a new jail has come up, which has
 * emptied the slot's directory, or when none could be started. Whoever gets the answer can rely on
 * nothing of the job being left. The answer is an error, unless the jail had told the job's end.
 *
 * Commands of a session. The slot of a session has a jail that runs its commands and nothing else.
 * Nothing of a command is killed or removed when it ends, so its pipes are closed at that moment
 * and its cgroup is that of the session. When the jail is lost, so is the session: its owner is
 * told. */

#include "launch.h"
#include "slot_jail.h"
#include "slot_job.h"

#include "daemon/base/clock.h"
#include "daemon/base/timer.h"
#include "daemon/confine/confinement.h"
#include "daemon/log/log.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum slot_state {
    SLOT_DOWN,      /* there is no jail that takes jobs */
    SLOT_IDLE,      /* the jail is up and has no job */
    SLOT_LAUNCHING, /* the jail has the job and has not said that its program runs */
    SLOT_RUNNING,   /* the program runs */
    SLOT_ENDING,    /* the program has exited or was killed; its tree and pipes are to end */
};

struct slot;

struct slot_ops {
    /* The program of OWNER's job runs, since STARTED_NS (CLOCK_MONOTONIC). For each step. */
    void (*started)(struct slot *slot, void *owner, uint64_t started_ns, void *userdata);
    /* The job is over, or a step of it: OWNER is the caller's again and the slot keeps nothing of
     * it, but for a step that was sent ahead. slot_continue() may be called from here. */
    void (*done)(struct slot *slot, void *owner, const struct slot_result *result, void *userdata);
    /* The program of OWNER's job, which streams, has written N bytes of DATA to stderr or to
     * stdout. May be NULL where no job does. */
    void (*output)(struct slot *slot, void *owner, bool is_stderr, const char *data, size_t n,
                   void *userdata);
    /* The terminal of OWNER's job has taken N bytes of what was typed. May be NULL where no job has
     * one. */
    void (*taken)(struct slot *slot, void *owner, size_t n, void *userdata);
    /* The jail is lost, and the session with it: slot_has_lost_jail(). May be NULL for slots of no
     * session. */
    void (*lost)(struct slot *slot, void *userdata);
    /* The slot can take a job: it is idle, has room for one ahead, or holds one that another slot
     * could run. Also called after each failed attempt to start a jail. */
    void (*idle)(struct slot *slot, void *userdata);
    /* Kills children of the supervisor that are not jails; returns how many there were. */
    int (*sweep)(void *userdata);
    /* The slot is stopped. It must not be freed here. */
    void (*stopped)(struct slot *slot, void *userdata);
};

/* Counted over all slots, since the start. */
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

/* The fields are for slot.c, and slot_view.c reads them; other files use the functions below. */
struct slot {
    const struct slot_config *config;
    unsigned index;
    enum slot_state state;
    struct timer timer; /* goes off when the state ends at the latest */
    struct slot_jail jail;
    struct slot_job job;        /* the jail's; or pending, until there is a jail of its shape */
    struct slot_job next;       /* the one behind it: pending or sent, or none */
    bool is_quick;              /* the last job was: the jail told its start and its end at once */
    bool has_lost_jail;         /* a jail of the slot is gone that nobody has ended */
    struct slot_class of_class; /* of which the jail has a template, or makes one */
    struct job_cgroup kept;     /* of the session whose slot it is, from the first command on */
};

/* Whether a slot in state FROM may pass to state TO. */
bool slot_may_enter(enum slot_state from, enum slot_state to);

/* Whether the slot's jail and job are as its state says. For assertions. */
bool slot_is_consistent(const struct slot *slot);

/* Counts and logs that a jail was spawned (R is 0) or could not be (a negative errno). For slot.c.
 */
void slot_note_spawned(struct slot *slot, int r);

/* Whether the slot's jail is of the shape that JOB wants; and gives the jail that is to be spawned
 * the shape that the slot wants. For slot.c. */
bool slot_shape_fits(const struct slot *slot, const struct slot_job *job);
void slot_shape_choose(struct slot *slot);

/* Starts the slot's first jail; SLOT must not move afterwards. On failure a
 * negative errno; slot_deinit() is still the caller's to call. A jail that cannot be started is not
 * a failure: the slot tries again. */
int slot_init(struct slot *slot, const struct slot_config *config, unsigned index);

/* Runs a job on an idle slot, or queues it behind the running one if slot_takes_next(). On success
 * returns 0 and calls `done` later, exactly once. A negative errno: the job was not taken, and
 * `done` will not be called. Calls neither `done` nor `started` before it returns. OWNER is not
 * NULL. */
int slot_run(struct slot *slot, const struct launch *launch, uint64_t job_no, void *owner);

/* Runs the next step of OWNER's job, whose last step is being given back by `done`; or queues it
 * behind that, ahead, if slot_takes_step(). Or runs a command on the slot of a session, which has
 * none; it waits for the jail if that is not up. Otherwise as slot_run(). -ESHUTDOWN: the slot
 * stops. */
int slot_continue(struct slot *slot, const struct launch *launch, uint64_t job_no, void *owner);

/* Stops reading what the program of OWNER's job writes, or reads on. It is read in any case once
 * the program's end is known. Nothing happens if the slot does not have that job. */
void slot_pause_output(struct slot *slot, const void *owner, bool is_paused);

/* Types N bytes on the terminal of OWNER's job, which the slot runs. 0, or a negative errno as
 * terminal_type(); nothing happens once the program has ended. */
int slot_type(struct slot *slot, const void *owner, const char *data, size_t n);

/* Gives that terminal another size. */
void slot_resize(struct slot *slot, const void *owner, struct terminal_size size);

/* Moves the job that FROM holds to TO, which is idle or takes one ahead. Returns its owner. */
void *slot_pass_on(struct slot *from, struct slot *to);

/* Replaces an idle jail that is not of the configured confinement. Other jails are replaced when a
 * job wants another shape, or when they end. */
void slot_renew(struct slot *slot);

/* Kills the job of OWNER, which the slot has, with its step ahead; it ends with SLOT_KILL_CANCELLED
 * unless something else came first. It is an error to call it after `done` for that job. */
void slot_cancel(struct slot *slot, const void *owner);

/* Ends the jail; `stopped` is called when it is gone. A job that runs is killed with it. May be
 * called again. */
void slot_stop(struct slot *slot);

/* Frees everything at once; a jail that still runs is killed. */
void slot_deinit(struct slot *slot);

/* --- what can be seen ---------------------------------------------------------------------- */

/* The slot's number: unique among those of the pool, used again after the slot is freed. */
static inline unsigned slot_index(const struct slot *slot)
{
    return slot->index;
}

/* The process of the jail; 0 without a jail. */
static inline pid_t slot_jail_pid(const struct slot *slot)
{
    return slot->jail.pid;
}

/* The affinity of the class of which the jail has a template; 0: of none. */
static inline uint64_t slot_affinity(const struct slot *slot)
{
    return slot->of_class.affinity;
}

/* Whether the slot has a job, or two. */
static inline bool slot_has_job(const struct slot *slot)
{
    return slot->job.owner || slot->next.owner;
}

/* The owners of the slot's jobs, the last one first; NULL for an absent job. */
#define SLOT_JOBS_MAX 2
static inline void slot_owners(const struct slot *slot, void *ret[SLOT_JOBS_MAX])
{
    ret[0] = slot->next.owner;
    ret[1] = slot->job.owner;
}

/* Whether the slot is ready for a job and not stopping. */
static inline bool slot_is_idle(const struct slot *slot)
{
    return slot->state == SLOT_IDLE && !slot->jail.is_stopping;
}

/* Whether a slot that is not idle has reason to send a job ahead, and room for it. */
static inline bool slot_looks_ahead(const struct slot *slot)
{
    return slot->state == SLOT_LAUNCHING && slot->is_quick && slot->next.phase == SLOT_JOB_NONE &&
           !slot->jail.is_stopping && slot->job.result.killed == SLOT_KILL_NONE;
}

/* Whether a slot that is not idle takes a job ahead. */
static inline bool slot_takes_next(const struct slot *slot)
{
    return slot_looks_ahead(slot) && !slot->job.result.more;
}

/* Whether it takes another step of OWNER's job ahead. */
static inline bool slot_takes_step(const struct slot *slot, const void *owner)
{
    return slot_looks_ahead(slot) && slot->job.result.more && slot->job.owner == owner;
}

/* Whether the slot has a job ahead that its jail does not have, and that another slot may take. A
 * step stays with its job. */
static inline bool slot_holds_next(const struct slot *slot)
{
    return slot->next.phase == SLOT_JOB_PENDING && !job_cgroup_is_open(&slot->next.cgroup) &&
           slot->next.result.step == 0;
}

/* Whether it holds one that will wait longer here than a quick job takes. */
static inline bool slot_delays_next(const struct slot *slot)
{
    return slot_holds_next(slot) && slot->state != SLOT_LAUNCHING;
}

/* Whether the last attempt at a jail failed. */
static inline bool slot_lacks_jail(const struct slot *slot)
{
    return slot->jail.failed_starts > 0;
}

/* Why the last SLOT_ATTEMPTS attempts at a jail failed, and more of them before; NULL if one of
 * them did not. */
#define SLOT_ATTEMPTS 6
static inline const char *slot_why_no_jail(const struct slot *slot)
{
    return slot->jail.failed_starts >= SLOT_ATTEMPTS ? slot->jail.trouble : NULL;
}

/* Whether a jail of the slot is gone that nobody has ended, and a session with it. */
static inline bool slot_has_lost_jail(const struct slot *slot)
{
    return slot->has_lost_jail;
}

/* Whether what slot_stop() began is finished, so that the slot may be freed. */
static inline bool slot_is_stopped(const struct slot *slot)
{
    return slot->jail.state == SLOT_JAIL_STOPPED;
}

/* Whether a program runs SLACK_MS after its deadline. */
static inline bool slot_is_overdue(const struct slot *slot, uint64_t now_ns, uint64_t slack_ms)
{
    return slot->state == SLOT_RUNNING && slot->job.deadline_ns + slack_ms * NS_PER_MS < now_ns;
}
