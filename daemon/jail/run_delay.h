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

/* Adds two of these. */
uint64_t run_delay_sum(uint64_t a, uint64_t b);
