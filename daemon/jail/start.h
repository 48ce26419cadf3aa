/* SPDX-License-Identifier: MIT */
#pragma once
/* Making a job's process, by the cheapest way there is. */

#include "interpreter.h"
#include "lockdown.h"

#include <stdint.h>
#include <sys/types.h>

/* What a child that shares the jail's memory runs on. */
#define START_STACK_BYTES (64u << 10)

/* What a job's process tells the jail before its program begins: in memory that both see. */
struct start_status {
    struct lockdown_error error;
    uint32_t warm;       /* 1: it runs in the jail's interpreter */
    pid_t in_our_memory; /* not 0: it has not begun, and works in the jail's own memory */
};

/* The way of a jail, for all its jobs. */
struct start {
    const struct jail_interpreter *interpreter; /* NULL: none waits */
    struct start_status *status;
    _Alignas(16) char stack[START_STACK_BYTES];
};

/* Maps the report. A negative errno. */
int start_init(struct start *start);

/* Starts what LOCKDOWN says, in the cgroup CGROUP unless that is -1. WARM: in the interpreter, if
 * that waits and takes it. The pid, and a pidfd that is the caller's; or a negative errno. LOCKDOWN
 * and all that it points to must stay until start_await() has returned or the process has ended. */
pid_t start_job(struct start *start, struct lockdown *lockdown, int cgroup, bool warm,
                int *ret_pidfd);

/* Waits until its program runs, or could not be started: start->status tells. */
void start_await(const struct start *start);
