/* SPDX-License-Identifier: MIT */
#pragma once
/* The daemon as main() sees it: start everything, run until stopped, free everything. The room is
 * described in state.h, its theory of operation at the head of supervisor.c. */

#include "state.h"

struct supervisor_options {
    const char *version;
    const struct config_source *source; /* borrowed; NULL: the configuration is not read again */
    int jail_program;                   /* rubricd-jail, open (taken) */
    int warm_program; /* rubricd-jail-warm, open (taken); a negative errno: not installed */
    int serve_fd;     /* serve this connected socket alone (taken); -1: listen */
    struct service_sockets sockets; /* listening (taken); none: bind the configured path */
    bool owns_socket; /* the one listening socket has the configured path: unlink it at the end */
};

/* Starts everything. Takes what CONFIG and OPTIONS own, also on failure. Returns a negative errno
 * with FAULT if something cannot be had; call supervisor_deinit() either way. SUPERVISOR must not
 * move afterwards. */
int supervisor_init(struct supervisor *supervisor, struct config *config,
                    const struct supervisor_options *options, struct fault *fault);

/* Runs the event loop until the daemon has drained. Returns 0, or -EIO if the loop failed. */
int supervisor_run(struct supervisor *supervisor);

void supervisor_deinit(struct supervisor *supervisor);
