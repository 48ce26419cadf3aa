/* SPDX-License-Identifier: MIT */
#pragma once
/* Says on stderr if a run waits for a worker that the fleet does not have: none at all, or none
 * whose daemons confine jobs as those of the run are to be confined. Listens to what the workers
 * announce. */

#include "bus.h"
#include "names.h"

struct suited {
    struct bus *bus;
    const char *run, *digest;                  /* borrowed; FEEDS_ANY: every worker will do */
    int64_t seen_ms, suits_ms;                 /* the last announcement; of a worker that will do */
    char worker[NAMES_RUN_MAX + 1], other[80]; /* one that will not, and its isolation */
};

/* SUITED stays where it is for as long as BUS lives. 0 or a negative errno. */
int suited_init(struct suited *suited, struct bus *bus, const char *run, const char *digest);

/* Complains if jobs wait (WAITS) and no worker that will do has been heard of for long. Returns
 * when to call this again. */
int64_t suited_check(struct suited *suited, bool waits, int64_t now);
