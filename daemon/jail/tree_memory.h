/* SPDX-License-Identifier: MIT */
#pragma once
/* How much memory the processes of a job take together, where no control group tells. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns whether all processes that PROC shows but the jail and those in APART (children.h) have
 * more than BYTES resident or swapped out. PROC is a /proc of the jail's pid namespace that hides
 * none. Shared pages count once. */
bool tree_memory_exceeds(int proc, const pid_t *apart, uint64_t bytes);

/* How many bytes process PID, which PROC shows, has resident or swapped out, in proportion: a page
 * that several share counts in part. 0 if that is not known. */
uint64_t tree_memory_of(int proc, pid_t pid);
