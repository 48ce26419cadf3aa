/* SPDX-License-Identifier: MIT */
#pragma once
/* What a worker says of itself in the stream of hosts: every few seconds what it does, and once
 * that it stops. Without that the others would count it for 20 seconds more. */

#include "bus.h"
#include "lane.h"

struct announce_counts {
    uint64_t done, errors, dead, known, back, cancelled, redelivered;
    uint64_t starved, passed; /* handed back: got no CPU here; left to other hosts */
    size_t running;
    double rate; /* answers per second since the last announcement */
};

/* Makes the announcement of the worker NAME, whose N lanes are at LANES, and which holds the starts
 * TAKE_HELD (tasks_held()). NULL: no daemon is there yet, or memory ran out. */
json_t *announce_make(const char *name, const struct lane *const *lanes, size_t n,
                      const struct announce_counts *counts, int64_t uptime_ms, json_t *take_held);

/* Announces on BUS that the worker NAME takes no more jobs. Once: if that is lost, the others
 * forget it as they forget one that was killed. */
void announce_stop(struct bus *bus, const char *name);

/* Whether ABOUT, an announcement, is by a worker that has stopped. */
bool announce_has_stopped(const json_t *about);
