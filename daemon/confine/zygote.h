/* SPDX-License-Identifier: MIT */
#pragma once
/* The daemon's side of a zygote (daemon/jail/zygote.h): starts it when a jail is wanted, watches
 * it, and asks it for jails.
 *
 *     NONE -----> STARTING -----> READY
 *      ^ ^           |              |
 *      | |           v              |  died after it had made a jail: tried again
 *      | +-------- LOST <-----------+  otherwise; jails are executed meanwhile
 *      +----------------------------+
 *
 * Invariants (zygote.c asserts them):
 *  - There is a process in STARTING and READY, and in no other state.
 *  - LOST is final unless a zygote of this confinement has made a jail. In that case a shortage may
 *    have kept its successor from starting, so another one is started after a pause, which doubles
 *    each time. */

#include "jailproc.h"

#define ZYGOTE_REASON_MAX 200

enum zygote_state {
    ZYGOTE_NONE,     /* not started yet */
    ZYGOTE_STARTING, /* its interpreter starts */
    ZYGOTE_READY,    /* it makes jails */
    ZYGOTE_LOST,     /* it cannot be had */
};

struct zygote {
    enum zygote_state state;
    const struct jailproc_config *config; /* of the jails; borrowed */
    char *directory;                      /* covered while the interpreter starts */
    struct jailproc process;              /* in STARTING and READY; owned */
    uint64_t deadline_ns;                 /* STARTING: it must be ready by then */
    bool is_proven;                       /* one was READY: the interpreter starts */
    bool is_useful;                       /* it has made a jail */
    bool has_been_useful;                 /* one has */
    uint64_t pause_ms, again_ns;          /* LOST: the last pause, and when it is over */
    bool has_died;                        /* one did: it may have left jails that are not known */
    bool is_interpreter_bad;              /* LOST: it started, its interpreter did not */
    char reason[ZYGOTE_REASON_MAX];       /* why the last one was lost */
    bool is_reason_told;
};

/* Prepares for a zygote of jails of CONFIG (borrowed) below WORK_DIRECTORY; none is started yet.
 * NULL if memory runs out. */
struct zygote *zygote_new(const struct jailproc_config *config, const char *work_directory);

/* Ends the process and frees everything. Accepts NULL and returns NULL. */
struct zygote *zygote_free(struct zygote *zygote);

/* Starts the zygote and waits until it is ready or lost. Returns whether it is ready. */
bool zygote_await(struct zygote *zygote);

/* Makes a jail as jailproc_copy() does, and starts the zygote if that is to be done. Returns 0;
 * -EINPROGRESS if the zygote is starting, or is to be started again: try again in a while, after a
 * sweep for children that nobody knows (has_died); -ENOENT if there is no zygote to be had; or the
 * error of the clone, which may be the host's refusal of any jail. */
int zygote_copy(struct zygote *zygote, const struct jail_shape *shape, const char *directory,
                struct jailproc *ret);

/* Ends a zygote that cannot make a jail because of R, a negative errno, where the daemon can.
 * Another one is started only if this one has made jails: then it was a shortage, or the helper
 * that gives uids was away, and may have passed. */
void zygote_give_up(struct zygote *zygote, int r);

/* Returns why the zygote was lost, once each time; NULL otherwise. Borrowed. */
const char *zygote_take_reason(struct zygote *zygote);

/* Returns the pid of its process, 0 if there is none. */
pid_t zygote_pid(const struct zygote *zygote);
