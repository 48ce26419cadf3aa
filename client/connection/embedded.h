/* SPDX-License-Identifier: MIT */
#pragma once
/* Starts and ends a private daemon: the same rubricd, serving one connection and ending with it. */

#include "proto/fault.h"

#include <stdbool.h>
#include <sys/types.h>

struct embedded {
    pid_t pid; /* 0: none; our child until embedded_wait() or embedded_stop() reaps it */
    int pidfd;
    const char *what; /* for messages; NULL: "the private rubricd" */
};

#define EMBEDDED_NULL \
    {                 \
        .pidfd = -1,  \
    }

/* Starts `rubricd --serve-fd=3` with one end of a socket pair. The caller owns the other end,
 * *ret_fd, which is non-blocking, and *ret. CONFIG may be NULL and SLOTS 0;
 * SET, which may be NULL, is a setting NAME=VALUE that goes before the file. Looks for rubricd in
 * $RUBRICD, beside this program, in the build tree, and where it is installed. Negative errno with
 * a FAULT that names the remedy. */
int embedded_start(const char *config, long slots, const char *set, struct embedded *ret,
                   int *ret_fd, struct fault *fault);

/* Names it for messages. */
static inline const char *embedded_name(const struct embedded *daemon)
{
    return daemon->what ? daemon->what : "the private rubricd";
}

/* Waits at most TIMEOUT_MS for the daemon to end and reaps it. Returns its wait status, with FAULT
 * saying how it ended ("exit status 1", "killed by signal 9"); -ETIMEDOUT or another negative errno
 * if it has not ended. */
int embedded_wait(struct embedded *daemon, int timeout_ms, struct fault *fault);

/* Waits for the daemon to end, and kills it if it does not end in time. Call this after closing the
 * connection. Complains on stderr about a bad end. */
void embedded_stop(struct embedded *daemon);
