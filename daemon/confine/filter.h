/* SPDX-License-Identifier: MIT */
#pragma once
/* The filter on a job's system calls: a list of what no grader needs and what would reach the host,
 * another job, or outlive its own, each group with its reason in filter.c. What is refused fails
 * with EPERM or ENOSYS, so that programs go on without it. */

#include "daemon/jail/layers.h"

#include <stdbool.h>
#include <stdint.h>

/* A memfd with the program (struct sock_filter[]) for a jail and its jobs for which LAYERS, bits of
 * enum layer, are in force; the caller's. PASS is a secret of the jail: with it as their last
 * argument, which the kernel does not look at, the calls that a jail works with go through. A
 * negative errno if libseccomp cannot make it. */
int filter_program(uint32_t layers, uint64_t pass);
