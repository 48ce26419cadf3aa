/* SPDX-License-Identifier: MIT */
#pragma once
/* Waiting for a descriptor, and ending the process that a pidfd stands for. */

#include <stdbool.h>
#include <stdint.h>

/* Waits until FD is readable, at end of file included, at most until DEADLINE_NS (CLOCK_MONOTONIC;
 * 0: looks only). False if it is not, or FD is -1. */
bool await_readable(int fd, uint64_t deadline_ns);

/* SIGKILL. PIDFD may be -1, and what has ended already cannot be killed; nobody minds. */
void kill_by_pidfd(int pidfd);
