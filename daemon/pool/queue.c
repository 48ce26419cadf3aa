/* SPDX-License-Identifier: MIT */
#include "queue.h"

void queue_init(struct queue *queue, size_t max_count, size_t max_bytes, size_t max_lane_count)
{
    *queue = (struct queue){.count = 0};
    TAILQ_INIT(&queue->ring);
    queue_bound(queue, max_count, max_bytes, max_lane_count);
}

void queue_bound(struct queue *queue, size_t max_count, size_t max_bytes, size_t max_lane_count)
{
    queue->max_count = max_count;
    queue->max_bytes = max_bytes;
    queue->max_lane_count = max_lane_count;
}

void queue_lane_init(struct queue_lane *lane)
{
    *lane = (struct queue_lane){.count = 0};
    for (size_t p = 0; p < QUEUE_PRIORITIES; p++)
        TAILQ_INIT(&lane->entries[p]);
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum queue_room queue_has_room(const struct queue *queue, const struct queue_lane *lane,
                               size_t size)
{
    if (lane->count >= queue->max_lane_count)
        return QUEUE_LANE_FULL;
    size_t count = queue->count - min(queue->held_count, queue->max_count);
    size_t bytes = queue->bytes - min(queue->held_bytes, queue->max_bytes);
    if (count == 0)
        return QUEUE_ROOM;
    if (count >= queue->max_count || size > queue->max_bytes || bytes > queue->max_bytes - size)
        return QUEUE_FULL;
    return QUEUE_ROOM;
}

/* The one place that decides whether a lane stands in the ring. */
static void settle_lane(struct queue *queue, struct queue_lane *lane)
{
    bool belongs = lane->count > 0 && !lane->held;
    if (belongs && !lane->in_ring)
        TAILQ_INSERT_TAIL(&queue->ring, lane, link);
    else if (!belongs && lane->in_ring)
        TAILQ_REMOVE(&queue->ring, lane, link);
    lane->in_ring = belongs;
}

/* Index 0 is the highest priority, so that the lowest set bit is the next to serve. */
static unsigned list_of(const struct queue_entry *entry)
{
    return (unsigned)(QUEUE_PRIORITY_MAX - entry->priority);
}

void queue_push(struct queue *queue, struct queue_lane *lane, struct queue_entry *entry)
{
    unsigned p = list_of(entry);
    TAILQ_INSERT_TAIL(&lane->entries[p], entry, link);
    lane->occupied |= UINT32_C(1) << p;
    lane->count++;
    lane->bytes += entry->size;
    entry->lane = lane;
    queue->count++;
    queue->bytes += entry->size;
    if (lane->held) {
        queue->held_count++;
        queue->held_bytes += entry->size;
    }
    settle_lane(queue, lane);
}

bool queue_can_pop(const struct queue *queue)
{
    return !TAILQ_EMPTY(&queue->ring);
}

void queue_remove(struct queue *queue, struct queue_entry *entry)
{
    struct queue_lane *lane = entry->lane;
    unsigned p = list_of(entry);
    TAILQ_REMOVE(&lane->entries[p], entry, link);
    if (TAILQ_EMPTY(&lane->entries[p]))
        lane->occupied &= ~(UINT32_C(1) << p);
    lane->count--;
    lane->bytes -= entry->size;
    entry->lane = NULL;
    queue->count--;
    queue->bytes -= entry->size;
    if (lane->held) {
        queue->held_count--;
        queue->held_bytes -= entry->size;
    }
    settle_lane(queue, lane);
}

struct queue_entry *queue_lane_first(const struct queue_lane *lane)
{
    if (lane->occupied == 0)
        return NULL;
    return TAILQ_FIRST(&lane->entries[__builtin_ctz(lane->occupied)]);
}

struct queue_entry *queue_pop(struct queue *queue)
{
    struct queue_lane *lane = TAILQ_FIRST(&queue->ring);
    if (!lane)
        return NULL;
    struct queue_entry *entry = queue_lane_first(lane);
    /* Out of the ring first: settle_lane then puts it back at the tail. */
    TAILQ_REMOVE(&queue->ring, lane, link);
    lane->in_ring = false;
    queue_remove(queue, entry);
    return entry;
}

void queue_hold(struct queue *queue, struct queue_lane *lane, bool held)
{
    if (lane->held != held) {
        /* Unsigned arithmetic: what is taken away has been added before. */
        queue->held_count += held ? lane->count : -lane->count;
        queue->held_bytes += held ? lane->bytes : -lane->bytes;
    }
    lane->held = held;
    settle_lane(queue, lane);
}
