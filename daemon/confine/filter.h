/* SPDX-License-Identifier: MIT */
#pragma once
/* The seccomp filter of a jail and its jobs. It lists the system calls that no grader needs and
 * that would reach the host, reach another job, or outlive their own; filter.c gives the reason for
 * each group. A refused call fails with EPERM or ENOSYS, so that programs go on without it. */

#include "daemon/jail/layers.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the filter program (struct sock_filter[]) for jails with LAYERS (bits of enum layer) in
 * force. BOUNDS_MEMORY: a control group bounds what a job's files in memory, and memory that its
 * processes share, take. Returns a sealed
 * memfd that the caller owns, or a negative errno if libseccomp cannot make it. PASS is a secret of
 * the jails: with it as their last argument, which the kernel does not look at, the calls that a
 * jail itself needs go through. */
int filter_program(uint32_t layers, bool bounds_memory, uint64_t pass);
