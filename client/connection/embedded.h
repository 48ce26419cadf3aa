/* SPDX-License-Identifier: MIT */
#pragma once
/* A private daemon: the same rubricd, started for one connection and gone with it. */

#include "proto/fault.h"

#include <stdbool.h>
#include <sys/types.h>

struct embedded {
    pid_t pid; /* 0: none; ours until it is waited for */
    int pidfd;
};

#define EMBEDDED_NULL \
    {                 \
        .pidfd = -1,  \
    }

/* Starts `rubricd --serve-fd=3` with one end of a socket pair; the caller owns the other end,
 * *ret_fd, which is non-blocking. CONFIG may be NULL and SLOTS 0. The daemon is looked for in
 * $RUBRICD, beside this program, in the build tree, and where it is installed. Negative errno with
 * FAULT saying what to do. */
int embedded_start(const char *config, long slots, struct embedded *ret, int *ret_fd,
                   struct fault *fault);

/* Waits until the daemon has ended, at most TIMEOUT_MS, and says how in FAULT ("exit status 1",
 * "killed by signal 9"). Returns its wait status, or -ETIMEDOUT. */
int embedded_wait(struct embedded *daemon, int timeout_ms, struct fault *fault);

/* To be called after the connection has been closed: waits for the daemon, and kills it where it
 * does not go. Its trouble is said on stderr. */
void embedded_stop(struct embedded *daemon);
