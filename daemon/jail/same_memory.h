/* SPDX-License-Identifier: MIT */
#pragma once
/* Whether two processes run in the same memory, as a child does that is to become another program
 * (vfork, posix_spawn), and not only in a copy of it. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Compares two processes, or threads, which both must have memory when this returns: the kernel
 * takes two that have ended for the same. PASS: see pass.h. False also if the kernel does not tell,
 * which can be built without this call (CONFIG_KCMP). */
bool same_memory(pid_t one, pid_t other, uint64_t pass);
