/* SPDX-License-Identifier: MIT */
#pragma once
/* What a process has of its own beside memory and descriptors. A fork of it has some of that, too,
 * and some not: so a template must begin its jobs with what it began with itself. */

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
