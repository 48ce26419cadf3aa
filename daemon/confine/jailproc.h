/* SPDX-License-Identifier: MIT */
#pragma once
/* Starting a jail process, in namespaces of its own where that is wanted and granted. */

#include "daemon/jail/layers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How jails are to be made; borrowed by whoever starts them. */
struct jail_shape {
    uint32_t layers; /* bits of enum layer: what to use */
    int filter;      /* the seccomp program for them (filter.h), owned; -1: none */
    uint64_t pass;   /* of that filter */
};

#define JAIL_SHAPE_NULL \
    {                   \
        .filter = -1    \
    }

void jail_shape_deinit(struct jail_shape *shape);

struct jailproc_config {
    int program;                 /* the rubricd-jail program, open */
    const char *const *readable; /* host paths that every job may read */
    size_t readable_count;

    /* Of an interpreter that waits; all NULL: none does. Lists end with a NULL. */
    const char *const *argv;    /* the program and its options */
    const char *const *envp;    /* what its jobs get */
    const char *const *modules; /* that it has loaded */
    const char *version;        /* "Python 3.11.2": another one does not fit */
};

struct jailproc {
    pid_t pid;
    int pidfd;
    int link_fd; /* to talk to it (jail/link.h); non-blocking */
};

/* Starts a jail of SHAPE for the slot's DIRECTORY and sends it its set-up. Nothing of the daemon's
 * environment or descriptors goes with it but stderr. The caller owns *ret. -EPERM, -EUSERS,
 * -ENOSPC and the like if the host refuses the namespaces. */
int jailproc_spawn(const struct jailproc_config *config, const struct jail_shape *shape,
                   const char *directory, struct jailproc *ret);
