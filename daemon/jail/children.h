/* SPDX-License-Identifier: MIT */
#pragma once
/* Kills and reaps what is left of a job after its program has ended. These processes are children
 * of this process, a child subreaper: orphans become its children, however often they forked or
 * called setsid(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Sends SIGKILL to every child of this process but the N in KEEP, and reaps those that are already
 * dead. The raw pid is safe: the kernel does not reuse the pid of an unreaped child. Returns how
 * many were found, or a negative errno if /proc cannot be read. */
int children_kill(const pid_t *keep, size_t n);

/* Resources that processes have used. */
struct children_usage {
    uint64_t
        cpu_us; /* microseconds of user and system time, including processes that they waited for */
    uint64_t max_rss_bytes; /* of the largest process */
};

/* Reaps PID, which is dead, and adds its usage to *usage. Returns its wait status. */
int children_reap(pid_t pid, struct children_usage *usage);

/* Whether PID is in APART, a list that ends with 0; NULL is an empty one. */
bool children_are_apart(const pid_t *apart, pid_t pid);

/* Kills and reaps children until none is left, and adds their usage to *usage. As process 1 of a
 * pid namespace, kills everything in it. APART lists children that were cloned without an exit
 * signal, and ends with 0 (NULL: none): they are spared if they are the only children and killed
 * with the others otherwise, and their usage is never added. Returns false if some are left after
 * DEADLINE_MS, for example one in uninterruptible sleep. */
bool children_kill_all(unsigned deadline_ms, const pid_t *apart, struct children_usage *usage);

/* The same, but spares none. */
bool children_kill_apart(unsigned deadline_ms, const pid_t *apart, struct children_usage *usage);

/* Stores in PIDS the children of process PID, as PROC shows them: a /proc of the pid namespace.
 * Returns how many there are; -E2BIG if they are more than MAX, or another negative errno. */
int children_list(int proc, pid_t pid, pid_t *pids, size_t max);
