/* SPDX-License-Identifier: MIT */
#pragma once
/* The queue of admitted jobs: bounded over all and per connection, round-robin between connections
 * ("lanes"), by priority and then by age within one. Every operation is O(1). Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define QUEUE_PRIORITY_MAX 10
#define QUEUE_PRIORITIES (2 * QUEUE_PRIORITY_MAX + 1)

struct queue_lane;

/* Embedded in a job. In a lane's list exactly while the job is queued: then lane is not NULL. */
struct queue_entry {
    TAILQ_ENTRY(queue_entry) link;
    struct queue_lane *lane;
    size_t size; /* bytes it counts for */
    int priority;
};

TAILQ_HEAD(queue_entries, queue_entry);

/* Embedded in a connection. In the queue's ring exactly while it has entries and is not held. */
struct queue_lane {
    TAILQ_ENTRY(queue_lane) link;
    struct queue_entries entries[QUEUE_PRIORITIES];
    uint32_t occupied; /* bit p: entries[p] is not empty */
    size_t count, bytes;
    bool held;
    bool in_ring;
};

struct queue {
    TAILQ_HEAD(, queue_lane) ring; /* the first is served next */
    size_t count, bytes;
    size_t held_count, held_bytes; /* of these, in lanes that are held */
    size_t max_count, max_bytes, max_lane_count;
};

enum queue_room {
    QUEUE_ROOM,
    QUEUE_LANE_FULL, /* this connection has its share queued */
    QUEUE_FULL,      /* all connections together have */
};

void queue_init(struct queue *queue, size_t max_count, size_t max_bytes, size_t max_lane_count);

/* Changes the bounds. What is queued beyond them stays queued. */
void queue_bound(struct queue *queue, size_t max_count, size_t max_bytes, size_t max_lane_count);

void queue_lane_init(struct queue_lane *lane);

/* Whether an entry of SIZE bytes may be pushed. What is held is in nobody's way until it is as much
 * as the bounds allow: it has them to itself once more, so that all there is stays below twice the
 * bounds. An entry that is larger than the whole bound has
 * room in an empty queue, so that nothing waits for ever. */
enum queue_room queue_has_room(const struct queue *queue, const struct queue_lane *lane,
                               size_t size);

/* Queues ENTRY, whose size and priority are set. Room is the caller's to check. */
void queue_push(struct queue *queue, struct queue_lane *lane, struct queue_entry *entry);

/* Takes the next entry, NULL if there is none that may run. Its lane goes to the back. */
struct queue_entry *queue_pop(struct queue *queue);

/* Whether there is one. */
bool queue_can_pop(const struct queue *queue);

/* Takes a given entry out. */
void queue_remove(struct queue *queue, struct queue_entry *entry);

/* A held lane keeps its entries and is passed over. */
void queue_hold(struct queue *queue, struct queue_lane *lane, bool held);

/* The first entry of LANE in the order in which it would be served, NULL if it is empty. */
struct queue_entry *queue_lane_first(const struct queue_lane *lane);
