/* SPDX-License-Identifier: MIT */
#pragma once
/* Starts a jail process, in namespaces of its own where that is wanted and granted: by executing
 * the jail program, or as a copy of the zygote, the same program in which an interpreter waits
 * already (daemon/jail/zygote.h). */

#include "daemon/jail/layers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How to make jails; borrowed by whoever starts them. */
struct jail_shape {
    uint32_t layers; /* bits of enum layer: layers to use */
    int filter;      /* their seccomp program (filter.h), owned; -1: none */
    uint64_t pass;   /* the pass of that filter */
    uint32_t slot;   /* whose uid their jobs get, if slots have uids of their own */
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
    bool bounds_memory; /* see filter_program() */
    const char *idmap; /* socket of the helper that gives each slot a uid (jail/idmap.h); NULL: jobs
                          have the daemon's */
    const char *no_idmap; /* why `idmap` is NULL; not needed otherwise */
    bool zygote_has_uids; /* the zygote gets those uids, too */

    /* The interpreter that waits in the jail; all NULL if none does. Lists end with a NULL. */
    const char *const *argv;    /* the program and its options */
    const char *const *envp;    /* environment of its jobs */
    const char *const *modules; /* modules that it loads */
    const char *version;        /* "Python 3.11.2": the jail refuses any other */
    int code; /* of programs of a pair (jail/link.h), open; the zygote's interpreter loads it. -1:
                 there is none */
};

struct jailproc {
    pid_t pid;
    int pidfd;
    int link_fd; /* the daemon's end of the link (jail/link.h); non-blocking */
};

/* Starts a jail of SHAPE for the slot's DIRECTORY and sends it its set-up. The jail inherits
 * nothing of the daemon's environment or descriptors but stderr. The caller owns *ret. -EPERM,
 * -EUSERS, -ENOSPC and the like if the host refuses the namespaces; -E2BIG if the set-up does not
 * fit into a message. */
int jailproc_spawn(const struct jailproc_config *config, const struct jail_shape *shape,
                   const char *directory, struct jailproc *ret);

/* Starts the zygote of jails of CONFIG, which must have an interpreter, and sends it its set-up.
 * The zygote makes DIRECTORY and answers READY when it takes requests; `warm` and `cold_because`
 * of that notice say whether the interpreter started. The caller owns *ret. Errors as
 * jailproc_spawn(). */
int jailproc_spawn_zygote(const struct jailproc_config *config, const char *directory,
                          struct jailproc *ret);

/* Has ZYGOTE, which is ready, make a jail of SHAPE for the slot's DIRECTORY: a child of this
 * process, as from jailproc_spawn().  Blocks until the jail lives. The caller owns *ret. Errors as
 * jailproc_spawn(); and -EPIPE, -ETIMEDOUT, -EPROTO if the zygote is gone, hangs or breaks the
 * rules: end it then, a jail may be on its way. */
int jailproc_copy(const struct jailproc *zygote, const struct jailproc_config *config,
                  const struct jail_shape *shape, const char *directory, struct jailproc *ret);
