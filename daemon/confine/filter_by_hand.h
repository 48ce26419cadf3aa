/* SPDX-License-Identifier: MIT */
#pragma once
/* The parts of the filter that libseccomp cannot express, because they compare one argument more
 * than once, or judge system calls that it does not know. */

#include <stdbool.h>

/* Writes these parts to FD. They precede libseccomp's program, whose relative jumps work at any
 * offset. OWN_PIDS: jobs have a pid namespace of their own. 0 or a negative errno. */
int filter_by_hand(int fd, bool own_pids);
