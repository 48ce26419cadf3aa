/* SPDX-License-Identifier: MIT */
#pragma once
/* The pass: how jail and jobs share one seccomp filter although the jail may do more.
 *
 * The filter (daemon/confine/filter.c) refuses these calls to jobs. It lets the jail make them if
 * their last argument, which the kernel ignores, is the pass: a random number that only the
 * supervisor and its jails know. A job that begins with execve has none of the jail's memory. A job
 * that is a fork of the jail can find the number there, and tell it to others as long as the jail
 * lasts. Against that, either the number is made worthless (bar_user_namespaces() in enclosure.c;
 * but for Landlock rulesets, which only take memory, and for kcmp: who finds the number compares no
 * processes but its own, since the jail cannot be looked into), or every job gives up these calls
 * before it runs anything of its own (pass_give_up()). */

#include <errno.h>
#include <stdint.h>

#define PASS_ARGUMENT 5

/* X(name, error that jobs get) */
#define PASS_CALLS(X)                                     \
    X(umount2, EPERM)                                     \
    X(fsopen, EPERM)                                      \
    X(fsmount, EPERM)                                     \
    X(open_tree, EPERM)                                   \
    X(move_mount, EPERM)                                  \
    X(fsconfig, EPERM)                                    \
    X(fspick, EPERM)                                      \
    X(mount_setattr, EPERM)                               \
    /* To compare processes (same_memory.h). */           \
    X(kcmp, EPERM)                                        \
    /* Namespaces. */                                     \
    X(setns, EPERM)                                       \
    X(unshare, EPERM)                                     \
    /* With ENOSYS programs fall back to older calls. */  \
    X(clone3, ENOSYS)                                     \
    X(openat2, ENOSYS)                                    \
    /* What they make takes memory that nobody counts. */ \
    X(seccomp, ENOSYS)                                    \
    X(landlock_create_ruleset, ENOSYS)

/* Installs a filter that refuses these calls to the calling process even with PASS, the number of
 * its jail. That the kernel supports it is known from the jail's own filter. 0 or a negative
 * errno. */
int pass_give_up(uint64_t pass);
