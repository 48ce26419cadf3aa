/* SPDX-License-Identifier: MIT */
#pragma once
/* How long a process was runnable without a CPU. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether PID, a zombie, which took TOOK_NS, may have waited for as long as results can tell, a
 * millisecond. To read how long costs the kernel more time than some programs run: those that ran
 * nearly all the time, and not in several processes or threads at once, can be spared. */
bool run_delay_is_possible(pid_t pid, uint64_t took_ns);

/* Opens the file in which the kernel tells how long PID waited for a CPU, beneath PROC: a directory
 * that hides no process, or -1 for /proc. The caller owns the descriptor; -1 if there is none. */
int run_delay_open(int proc, pid_t pid);

/* Reads how long the program was runnable without a CPU, in nanoseconds; the program must be a
 * zombie. UINT64_MAX: not known. */
uint64_t run_delay_read(int schedstat);

/* Adds two of these. */
uint64_t run_delay_sum(uint64_t a, uint64_t b);
