/* SPDX-License-Identifier: MIT */
#pragma once
/* What is left of a job after its program has ended: children of this process, which is a child
 * subreaper, so that orphans come to it however often they forked or called setsid. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Sends SIGKILL to every child of this process but the N in KEEP and reaps those that are dead
 * already. An unreaped child's pid cannot be another process's, so the raw pid is safe here.
 * Returns how many were found, or a negative errno if /proc cannot be read. */
int children_kill(const pid_t *keep, size_t n);

/* What processes have used. */
struct children_usage {
    uint64_t cpu_us;        /* user and system time, of those they waited for too */
    uint64_t max_rss_bytes; /* of the largest */
};

/* Reaps PID, which is dead, and adds what it has used. Returns its wait status. */
int children_reap(pid_t pid, struct children_usage *usage);

/* Kills and reaps until no child is left, and adds what they have used. As process 1 of a pid
 * namespace it kills all that is in it. False if some were left after DEADLINE_MS (one that sleeps
 * in the kernel uninterruptibly, say). */
bool children_kill_all(unsigned deadline_ms, struct children_usage *usage);
