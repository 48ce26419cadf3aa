/* SPDX-License-Identifier: MIT */
#pragma once
/* How long a process was runnable without a CPU. */

#include <stdint.h>
#include <sys/types.h>

/* Opens the file in which the kernel tells how long PID waited for a CPU, beneath PROC: a directory
 * that hides no process, or -1 for /proc. The caller owns the descriptor; -1 if there is none. */
int run_delay_open(int proc, pid_t pid);

/* Reads how long the program was runnable without a CPU, in nanoseconds; the program must be a
 * zombie. UINT64_MAX: not known. */
uint64_t run_delay_read(int schedstat);

/* What the kernel tells of a process of one thread, in nanoseconds. */
struct run_times {
    uint64_t run_ns, delay_ns; /* on a CPU; runnable without one */
};

/* Reads both, however often, from what run_delay_open() has opened; 0 where they are not known. */
struct run_times run_times_read(int schedstat);

/* Adds two delays. */
uint64_t run_delay_sum(uint64_t a, uint64_t b);
