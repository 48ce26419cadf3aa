/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds out whether modules change the process that loads them: its limits, working directory,
 * umask and timers. A fork inherits some of that and lacks the rest. So a template whose modules
 * have changed it would fork jobs that differ from one that loads the modules itself. */

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct own_state {
    struct rlimit limits[RLIM_NLIMITS];
    struct stat directory;
    mode_t mask;
};

/* Reads the state of this process. Returns false with errno if it cannot. */
bool own_state_read(struct own_state *ret);

/* Returns what modules that were loaded since BEFORE have changed, for people, or what of it would
 * be lost in a fork; NULL: nothing. */
const char *own_state_change(const struct own_state *before);
