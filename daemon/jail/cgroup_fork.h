/* SPDX-License-Identifier: MIT */
#pragma once
/* A child that is in a control group of its own from its first instruction on.
 *
 * Two things the caller sees to:
 *  - The process that forks must not have unshared its cgroup namespace: from inside of one the
 *    leaf is out of sight, and the kernel refuses (-ENOENT). The child may, once it is in the leaf:
 *    unshare(CLONE_NEWCGROUP), never as a flag of the same clone.
 *  - Everybody's user must be the leaf's owner, the daemon's user, as the kernel knows it: in a
 * user namespace the one that is mapped to it. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Like fork(2), into the leaf (-1: where the caller is), with FLAGS for clone3 (CLONE_NEWNS, ...;
 * not CLONE_VM), and *ret_pidfd for the parent, which has O_CLOEXEC. PASS lets a jail through its
 * filter (mounts.h).
 *
 * Where clone3() is taken away (a seccomp filter by RestrictNamespaces= of systemd: -ENOSYS) a
 * plain clone() does it, and *ret_must_enter, in the child, says that it is still where its parent
 * is: it calls cgroup_enter() before anything else. That migrates a running process, which costs a
 * wait for all CPUs: tens of milliseconds at times, where the other way costs microseconds.
 *
 * Returns the pid, 0 in the child, or a negative errno. */
pid_t cgroup_fork(int leaf_fd, uint64_t flags, uint64_t pass, int *ret_pidfd, bool *ret_must_enter);

/* Moves this process, which has one thread, to the leaf. 0 or a negative errno. */
int cgroup_enter(int leaf_fd);
