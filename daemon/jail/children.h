/* SPDX-License-Identifier: MIT */
#pragma once
/* What is left of a job after its program has ended: children of this process, which is a child
 * subreaper, so that orphans come to it however often they forked or called setsid. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends SIGKILL to every child of this process but the N in KEEP and reaps those that are dead
 * already. An unreaped child's pid cannot be another process's, so the raw pid is safe here.
 * Returns how many were found, or a negative errno if /proc cannot be read. */
int children_kill(const pid_t *keep, size_t n);

/* Kills and reaps until no child is left. False if some were left after DEADLINE_MS (one that
 * sleeps in the kernel uninterruptibly, say). */
bool children_kill_all(unsigned deadline_ms);
