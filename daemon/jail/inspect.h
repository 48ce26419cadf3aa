/* SPDX-License-Identifier: MIT */
#pragma once
/* Looks at processes of the jail through PROC, a /proc of the jail's pid namespace that hides none.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How many processes there are, the jail included; -1 if that cannot be found out. */
int inspect_processes(int proc);

/* The one child that PARENT has; -1 if it has none or several, or that cannot be found out. */
pid_t inspect_child(int proc, pid_t parent);

/* How many threads PID has; -1 if that cannot be found out. */
int inspect_threads(int proc, pid_t pid);

/* How many descriptors PID has open; -1, with errno, if that cannot be found out: EACCES if the
 * process is not dumpable. */
int inspect_descriptors(int proc, pid_t pid);

/* Whether PID has memory that it shares with others and may write to, or may allow itself to; true
 * if that cannot be found out. */
bool inspect_shares_memory(int proc, pid_t pid);

/* The memory in bytes that ends with PID: its own, and its part of what it has in common with
 * others. UINT64_MAX if that cannot be found out. */
uint64_t inspect_memory(int proc, pid_t pid);
