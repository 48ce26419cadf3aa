/* SPDX-License-Identifier: MIT */
#pragma once
/* Waits for a descriptor; kills by pidfd. */

#include <stdbool.h>
#include <stdint.h>

/* Waits until FD is readable or at end of file, until DEADLINE_NS (CLOCK_MONOTONIC; 0: only looks).
 * Returns false if it is not, or if FD is -1. */
bool await_readable(int fd, uint64_t deadline_ns);

/* Sends SIGKILL. Does nothing if PIDFD is -1 or the process has ended. */
void kill_by_pidfd(int pidfd);
