/* SPDX-License-Identifier: MIT */
#pragma once
/* The calls that the filter on system calls (daemon/confine/filter.c) refuses jobs and lets the
 * jail make: with its pass, a number that nobody else has, as their last argument, of which they
 * know nothing. A job that begins with execve has none of the jail's memory. One that is a fork of
 * it has, and can tell others, as long as the jail lasts: there the number is made worthless
 * (confine.c), or every job gives up these calls altogether before it runs anything of its own. */

#include <errno.h>

#define PASS_ARGUMENT 5

/* X(name, what jobs are answered with) */
#define PASS_CALLS(X)               \
    X(umount2, EPERM)               \
    X(open_tree, EPERM)             \
    X(move_mount, EPERM)            \
    X(fsconfig, EPERM)              \
    X(fspick, EPERM)                \
    X(mount_setattr, EPERM)         \
    /* Namespaces. */               \
    X(setns, EPERM)                 \
    X(unshare, EPERM)               \
    /* Programs use others then. */ \
    X(clone3, ENOSYS)               \
    X(openat2, ENOSYS)

/* Whether what it takes can be had was found out when the jail installed its own filter. 0 or a
 * negative errno. */
int pass_give_up(void);
