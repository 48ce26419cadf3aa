/* SPDX-License-Identifier: MIT */
#pragma once
/* How much memory the processes of a job take together, on hosts without a control group to tell
 * it. */

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns 1 if all processes that PROC shows but the jail and TWIN (0: none) have more than BYTES
 * resident, swapped out or in page tables, and 0 if not. PROC is a /proc of the jail's pid
 * namespace that hides none. Shared pages count once. -EAGAIN: those that could be read have not;
 * others could not be, or had ended. A job can make counting take long: -EINTR as soon as one of
 * the COUNT descriptors UNTIL is ready. */
int tree_memory_exceeds(int proc, pid_t twin, uint64_t bytes, struct pollfd *until, nfds_t count);
