/* SPDX-License-Identifier: MIT */
#pragma once
/* Whose job of a user goes into the fleet's queue next: the connections of the user take turns, one
 * job at a time, and among the jobs of one connection the higher priority goes first, then the
 * earlier. Pure.
 *
 * Invariant: a lane is in the ring exactly while it has entries. */

#include "names.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#define TURNS_PRIORITIES (NAMES_PRIORITY_MAX - NAMES_PRIORITY_MIN + 1)

/* Embedded in a job that waits. */
struct turn_entry {
    struct turn_lane *lane; /* NULL: it does not wait */
    int64_t priority;
    TAILQ_ENTRY(turn_entry) link;
};

TAILQ_HEAD(turn_entries, turn_entry);

/* Embedded in a connection. */
struct turn_lane {
    struct turn_entries waiting[TURNS_PRIORITIES];
    size_t n;
    bool is_held; /* none of its jobs has a turn */
    TAILQ_ENTRY(turn_lane) link;
};

struct turns {
    TAILQ_HEAD(, turn_lane) ring;
};

void turns_init(struct turns *turns);

/* LANE stays where it is. */
void turn_lane_init(struct turn_lane *lane);

/* Has ENTRY, which is in no lane, wait in LANE, whose entries are all in TURNS. PRIORITY is within
 * the bounds of names.h. */
void turns_push(struct turns *turns, struct turn_lane *lane, struct turn_entry *entry,
                int64_t priority);

/* Takes ENTRY out of its lane. */
void turns_remove(struct turns *turns, struct turn_entry *entry);

/* Takes the next one out; NULL: none waits that is not held. */
struct turn_entry *turns_next(struct turns *turns);
