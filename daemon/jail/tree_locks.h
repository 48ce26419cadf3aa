/* SPDX-License-Identifier: MIT */
#pragma once
/* How many locks of files the processes of a job hold.
 *
 * Whoever closes a file walks through all locks that anybody holds on it, also one that many
 * programs open, like /dev/null. And nobody counts the memory of locks. So a job may have some, and
 * not as many as it likes. */

#include <stdbool.h>
#include <stdint.h>

/* Locks that the processes of a job may hold together. */
#define TREE_LOCKS_MAX 4096

/* Between two looks. The kernel may take tens of milliseconds to list locks, for which the jail
 * does not attend to anything else. The more locks there are on a file, the longer the next one
 * takes: a job makes few thousands meanwhile. */
#define TREE_LOCKS_MS UINT64_C(250)

/* Looks take at most this part of the time: nobody on the host takes or releases a lock meanwhile.
 */
#define TREE_LOCKS_SHARE 50

struct tree_locks {
    bool is_bounded;  /* otherwise nobody looks */
    bool is_exceeded; /* there were too many once */
    uint64_t next_ns; /* when to look again, CLOCK_MONOTONIC; 0: not said yet */
};

/* Looks if it is time to, but never at the first call: most jobs are over before the second. PROC
 * shows the jail's own pid namespace. Returns after how many milliseconds to look again; -1: never.
 *
 * What the kernel does not attribute to a process does not count: locks of open file descriptions,
 * which jobs cannot make, and a flock() whose process has ended while another one has the file.
 * Neither does anything where PROC shows only processes. */
int tree_locks_look(struct tree_locks *locks, int proc);
