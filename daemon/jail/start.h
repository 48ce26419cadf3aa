/* SPDX-License-Identifier: MIT */
#pragma once
/* Starts a job's process by the cheapest way available:
 *
 *  - warm: a fork of the jail, in which the waiting interpreter runs the script;
 *  - in the jail's memory (CLONE_VM) until execve, if the job has no cgroup of its own;
 *  - otherwise a fork, with the jail suspended until execve (CLONE_VFORK). */

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

/* State that a jail keeps for starting its jobs. */
struct start {
    const struct jail_interpreter *interpreter; /* NULL: none waits */
    struct start_status *status;
    _Alignas(16) char stack[START_STACK_BYTES];
};

/* Maps the shared memory; in a copy of a jail, new memory for the copy. 0 or a negative errno. */
int start_init(struct start *start);

/* Starts the program that LOCKDOWN describes, in the cgroup CGROUP unless that is -1. WARM: in the
 * interpreter, if one waits and takes the job. Returns the pid and stores a pidfd that the caller
 * owns, or returns a negative errno. LOCKDOWN and everything that it points to must stay until
 * start_await() has returned or the process has ended. */
pid_t start_job(struct start *start, struct lockdown *lockdown, int cgroup, bool warm,
                int *ret_pidfd);

/* Waits until the program runs or has failed to start; start->status says which. */
void start_await(const struct start *start);
