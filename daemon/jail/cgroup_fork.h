/* SPDX-License-Identifier: MIT */
#pragma once
/* Forks a child that is in a control group of its own from its first instruction on.
 *
 * The caller must see to two things:
 *  - The forking process must not have unshared its cgroup namespace: from inside one, the leaf is
 *    out of sight and the kernel refuses (-ENOENT). The child may unshare it once it is in the
 *    leaf, with unshare(CLONE_NEWCGROUP), never with a flag of the same clone.
 *  - Both processes must run as the leaf's owner, the daemon's user, as the kernel sees it: in a
 *    user namespace, as the user that is mapped to it. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Like fork(2), into the leaf LEAF_FD (-1: the caller's group), with FLAGS for clone3()
 * (CLONE_NEWNS, ...; not CLONE_VM). The parent owns *ret_pidfd, which is close-on-exec. PASS takes
 * a jail through its filter (mounts.h).
 *
 * Where clone3() is not available (-ENOSYS, from the seccomp filter of systemd's
 * RestrictNamespaces=), this uses clone(). The child is then still in its parent's group:
 * *ret_must_enter tells it so, and it must call cgroup_enter() before anything else. That migrates
 * a running process, for which the kernel waits for all CPUs: at times tens of milliseconds, where
 * clone3() takes microseconds.
 *
 * Returns the pid, 0 in the child, or a negative errno. */
pid_t cgroup_fork(int leaf_fd, uint64_t flags, uint64_t pass, int *ret_pidfd, bool *ret_must_enter);

/* Moves PID, a child that has one thread, to the leaf. 0 or a negative errno. */
int cgroup_move(int leaf_fd, pid_t pid);

/* Moves this process, which must have one thread, to the leaf. 0 or a negative errno. */
int cgroup_enter(int leaf_fd);
