/* SPDX-License-Identifier: MIT */
#include "turns.h"

#include <assert.h>

void turns_init(struct turns *turns)
{
    TAILQ_INIT(&turns->ring);
}

void turn_lane_init(struct turn_lane *lane)
{
    *lane = (struct turn_lane){.n = 0};
    for (size_t i = 0; i < TURNS_PRIORITIES; i++)
        TAILQ_INIT(&lane->waiting[i]);
}

static struct turn_entries *entries_of(struct turn_lane *lane, int64_t priority)
{
    assert(priority >= NAMES_PRIORITY_MIN && priority <= NAMES_PRIORITY_MAX);
    return &lane->waiting[priority - NAMES_PRIORITY_MIN];
}

void turns_push(struct turns *turns, struct turn_lane *lane, struct turn_entry *entry,
                int64_t priority)
{
    assert(!entry->lane);
    entry->lane = lane;
    entry->priority = priority;
    TAILQ_INSERT_TAIL(entries_of(lane, priority), entry, link);
    if (lane->n++ == 0)
        TAILQ_INSERT_TAIL(&turns->ring, lane, link);
}

void turns_remove(struct turns *turns, struct turn_entry *entry)
{
    struct turn_lane *lane = entry->lane;
    TAILQ_REMOVE(entries_of(lane, entry->priority), entry, link);
    entry->lane = NULL;
    if (--lane->n == 0)
        TAILQ_REMOVE(&turns->ring, lane, link);
}

/* Returns the first of LANE, which is not empty. */
static struct turn_entry *first_of(struct turn_lane *lane)
{
    size_t i = TURNS_PRIORITIES;
    while (TAILQ_EMPTY(&lane->waiting[i - 1]))
        i--;
    return TAILQ_FIRST(&lane->waiting[i - 1]);
}

struct turn_entry *turns_next(struct turns *turns)
{
    struct turn_lane *lane;
    TAILQ_FOREACH(lane, &turns->ring, link)
    if (!lane->is_held)
        break;
    if (!lane)
        return NULL;
    struct turn_entry *entry = first_of(lane);
    turns_remove(turns, entry);
    if (lane->n > 0) { /* behind the others */
        TAILQ_REMOVE(&turns->ring, lane, link);
        TAILQ_INSERT_TAIL(&turns->ring, lane, link);
    }
    return entry;
}
