/* SPDX-License-Identifier: MIT */
#pragma once
/* Keeps jobs from signalling the processes of their jail that have a low pid, where Landlock does
 * not (before Linux 6.12). The filter that all jobs share sees to the calls that steer one process
 * in other ways (daemon/confine/filter.c).
 *
 * A signal to all processes that a job may signal is refused, too, since it would reach those; so
 * is what has the kernel send signals on a job's behalf. */

#include <stdint.h>

/* Installs a filter for this process and its descendants, which must have no_new_privs and a pid
 * namespace where what is to be kept has pids below ENCLOSURE_PIDS_OF_JOB. PASS is for the filter
 * that is there already (pass.h). 0 or a negative errno. */
int shield_low_pids(uint64_t pass);
