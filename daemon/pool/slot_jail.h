/* SPDX-License-Identifier: MIT */
#pragma once
/* The life of a slot's jails: one process after another is spawned, watched, killed, reaped and
 * replaced, until the slot stops. slot.c handles what a jail says about its
 * jobs, and the job of a jail that is lost.
 *
 *     SWEEPING ------> STARTING ------> UP ------> LEAVING
 *        |  ^             |             |             |
 *        |  |             v             v             v
 *        |  +---------- DYING <----------------------+
 *        v
 *     STOPPED
 *
 * May include: the rooms below the pool, nothing of the pool.
 *
 * Invariants (slot_jail.c asserts them):
 *  - There is a process in STARTING, UP, LEAVING and DYING, a link in STARTING and UP.
 *  - After `down`, the only further event of a jail is its exit.
 *  - A jail is spawned only after the sweep that follows the one before.
 *  - A jail keeps its shape, that is its confinement, whether it may use the network and whether an
 *    interpreter waits in it. */

#include "daemon/base/timer.h"
#include "daemon/confine/confinement.h"
#include "daemon/jail/link.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum slot_jail_state {
    SLOT_JAIL_SWEEPING, /* no jail; the processes that the last one's job left are being killed, or
                         * the next start is delayed */
    SLOT_JAIL_STARTING, /* it was spawned and has not said that it is ready */
    SLOT_JAIL_UP,       /* it takes jobs */
    SLOT_JAIL_LEAVING,  /* its link was closed while it had no job: it exits by itself */
    SLOT_JAIL_DYING,    /* it was killed and is to be reaped */
    SLOT_JAIL_STOPPED,  /* no jail, and no other will start */
};

struct slot_jail;

struct slot_jail_ops {
    /* A jail is to be spawned: the last moment for slot_jail_reshape(). */
    void (*choose)(void *userdata);
    /* The jail is up. */
    void (*up)(void *userdata);
    /* The jail, which is up, sends NOTICE about a job. Takes PIDFD. Returns what is wrong with the
     * notice, for which the jail is given up; NULL if nothing is. */
    const char *(*notice)(const struct link_notice *notice, int pidfd, void *userdata);
    /* The jail was killed: given up for WHY, or for a new one or to stop where that is NULL. */
    void (*down)(const char *why, void *userdata);
    /* A jail was spawned: R is 0; or it could not be: R is a negative errno. */
    void (*spawned)(int r, void *userdata);
    /* The last attempt at a jail failed. The next will be made after a while. */
    void (*unavailable)(void *userdata);
    /* Kills what the last jail's job left. Returns whether something may still be dying. */
    bool (*sweep)(void *userdata);
    /* No jail will come any more. */
    void (*stopped)(void *userdata);
};

/* Where jails live, and who hears of them; all borrowed. */
struct slot_jail_host {
    struct event_base *base;
    const char *work_directory; /* the jail of slot N uses <work_directory>/slot-N */
    int work_directory_fd;      /* the same */
    const struct slot_jail_ops *ops;
    void *userdata;
};

#define SLOT_JAIL_TROUBLE_MAX 160

struct slot_jail {
    struct slot_jail_host host;
    unsigned index; /* of the slot */
    enum slot_jail_state state;
    bool is_stopping;
    bool is_ignored; /* the link is open but is not listened to */

    pid_t pid;                           /* 0: there is no process */
    int pidfd, link_fd;                  /* owned; -1: none */
    struct event *exit_event;            /* the process has exited */
    struct event *link_event;            /* the link can be read */
    struct timer timer;                  /* goes off when the state ends at the latest */
    struct confinement *confinement;     /* of this jail, or of the next; a reference */
    struct jail_wish wish;               /* likewise */
    unsigned failed_starts;              /* in a row; the next start is delayed accordingly */
    char trouble[SLOT_JAIL_TROUBLE_MAX]; /* why the last of them failed, for people */
    unsigned sweeps;                     /* since the last process was reaped */
};

#define SLOT_JAIL_NULL                                  \
    {                                                   \
        .pidfd = -1, .link_fd = -1, .timer = TIMER_NULL \
    }

/* Whether a jail in state FROM may pass to state TO. */
bool slot_jail_may_enter(enum slot_jail_state from, enum slot_jail_state to);

/* Prepares for the jails of slot INDEX; none is spawned yet. JAIL must not move afterwards. A
 * negative errno on failure, with nothing left. */
int slot_jail_init(struct slot_jail *jail, const struct slot_jail_host *host, unsigned index);

/* Spawns the first jail. Reports failures through HOST's operations. */
void slot_jail_start(struct slot_jail *jail);

/* Whether the jail is of CONFINEMENT and as WISH says. Any jail will do for a job that wants no
 * interpreter. */
bool slot_jail_is_of(const struct slot_jail *jail, const struct confinement *confinement,
                     const struct jail_wish *wish);

/* Chooses the shape of the jail that is to be spawned; takes a reference. For `choose` alone. */
void slot_jail_reshape(struct slot_jail *jail, struct confinement *confinement,
                       const struct jail_wish *wish);

/* Stops listening to the link, which stays open, or listens again. No effect without a link. */
void slot_jail_ignore(struct slot_jail *jail);
void slot_jail_listen(struct slot_jail *jail);

/* Kills a jail that is well, for a new one. `down` is called before this returns. */
void slot_jail_replace(struct slot_jail *jail);

/* Kills a jail that is not well, for the reason WHY. `down` is called before this returns. */
void slot_jail_give_up(struct slot_jail *jail, const char *why);

/* Ends the jail, or the wait for the next one; `stopped` is called later. A jail that IS_IDLE may
 * exit by itself. May be called again. */
void slot_jail_stop(struct slot_jail *jail, bool is_idle);

/* Kills and reaps the jail if there is one, and frees everything. */
void slot_jail_deinit(struct slot_jail *jail);
