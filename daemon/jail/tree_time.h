/* SPDX-License-Identifier: MIT */
#pragma once
/* How long the processes of the running job have run, and how long they were ready to run without
 * a CPU. */

#include <stdint.h>
#include <sys/types.h>

struct tree_time {
    uint64_t run_ns;  /* CPU time: of what lives, and of what it has waited for */
    uint64_t wait_ns; /* runnable without a CPU: of the threads that live, each counted in full */
};

/* Sums up all descendants of this process, whatever user namespace or session they have moved to.
 * PROC is a directory with a proc file system, borrowed; -1 for /proc. It should be mounted without
 * hidepid: that hides what has made itself undumpable. EXCEPT is a child whose own time does not
 * count, only that of its descendants; 0: none. The kernel does not tell how long threads waited
 * that are gone. A negative errno if PROC cannot be read. */
int tree_time_read(int proc, pid_t except, struct tree_time *ret);
