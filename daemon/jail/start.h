/* SPDX-License-Identifier: MIT */
#pragma once
/* Starts a job's process by the cheapest way available:
 *
 *  - warm: a fork of the jail, in which the waiting interpreter runs the script;
 *  - in the jail's memory (CLONE_VM) until execve, if the job has no cgroup of its own;
 *  - otherwise a fork, with the jail suspended until execve (CLONE_VFORK; not for a command of a
 *    session);
 *  - a fork that runs on in the jail's code, for a job that reads or writes a file of a session.
 *
 * What an earlier command of a session has left may send signals to the process of the next one as
 * soon as that is there. If it stops that process before the program begins, the jail would wait
 * for ever. So the jail looks whether the process is stopped, ends it then, and reports
 * LINK_STAGE_STOPPED. */

#include "interpreter.h"
#include "lockdown.h"

#include <stdint.h>
#include <sys/types.h>

/* Stack of a child that shares the jail's memory. */
#define START_STACK_BYTES (64u << 10)

/* Messages of a job's process to the jail before its program begins, in memory that both share. */
struct start_status {
    struct lockdown_error error;
    uint32_t warm;       /* 1: it runs in the jail's interpreter */
    pid_t in_our_memory; /* not 0: the child still works in the jail's memory */
};

/* Those of a jail and of its twin (twin.h), at most one of which lives at a time: the filter that
 * the jail installs may refuse more shared memory to a twin. */
struct start_shared {
    struct start_status of_jail, of_twin;
};

/* State that a jail keeps for starting its jobs. */
struct start {
    const struct jail_interpreter *interpreter; /* NULL: none waits */
    struct start_shared *shared;
    struct start_status *status; /* in `shared`: that of this process */
    _Alignas(16) char stack[START_STACK_BYTES];
};

/* Maps the shared memory, before the jail installs its filter. The memory lasts as long as the
 * jail. 0 or a negative errno. */
int start_init(struct start *start);

/* Has START, which a twin has copied from its jail, use the twin's part of the shared memory. The
 * twin calls it. */
void start_enter_twin(struct start *start);

/* Starts the program that LOCKDOWN describes, in the cgroup CGROUP unless that is -1. WARM: in the
 * interpreter, if one waits and takes the job. Returns the pid and stores a pidfd that the caller
 * owns, or returns a negative errno. LOCKDOWN and everything that it points to must stay until
 * start_await() has returned or the process has ended; the next job is not started before. */
pid_t start_job(struct start *start, struct lockdown *lockdown, int cgroup, bool warm,
                int *ret_pidfd);

/* Makes this fork of the jail one that runs its interpreter: unmaps the shared memory, and resets
 * the signals that the jail catches. Keeps those of the interpreter: it set them for its scripts.
 */
void start_leave_jail(const struct start *start);

/* Waits until the program runs or has failed to start; start->status says which. */
void start_await(const struct start *start);
