/* SPDX-License-Identifier: MIT */
#pragma once
/* Kills and reaps what is left of a job after its program has ended. These processes are children
 * of this process, a child subreaper: orphans become its children, however often they forked or
 * called setsid(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Forks, with FLAGS for clone3() (CLONE_NEWNS, ...), a child without an exit signal: so the jail
 * finds out by one call that a job has left no process (children_kill_all()). PASS takes the jail
 * through its filter (mounts.h). Returns the pid, 0 in the child, or a negative errno. The parent
 * owns *ret_pidfd. */
pid_t children_fork_quietly(uint64_t flags, uint64_t pass, int *ret_pidfd);

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

/* Returns the CPU time in microseconds of PID, which is dead, and stays so; 0 if it is not known.
 */
uint64_t children_cpu_us(pid_t pid);

/* Reaps PID, which is dead, and adds its usage to *usage. Returns its wait status. */
int children_reap(pid_t pid, struct children_usage *usage);

/* Kills and reaps children until none is left, and adds their usage to *usage. As process 1 of a
 * pid namespace, kills everything in it. SPARED (0: none) is a child that was forked quietly. If
 * all other children were, too, none is killed, and the caller has to look for them; otherwise all
 * are, SPARED with them. Its usage is never added. Returns false if some are left after
 * DEADLINE_MS, for example one in uninterruptible sleep. */
bool children_kill_all(unsigned deadline_ms, pid_t spared, struct children_usage *usage);
