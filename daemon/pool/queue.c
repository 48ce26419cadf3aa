/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include <assert.h>

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

void queue_user_init(struct queue_user *user)
{
    *user = (struct queue_user){.begun_count = 0};
    TAILQ_INIT(&user->ring);
}

void queue_lane_init(struct queue_lane *lane, struct queue_user *user)
{
    *lane = (struct queue_lane){.state = QUEUE_LANE_EMPTY, .user = user};
    for (size_t p = 0; p < QUEUE_LISTS; p++)
        TAILQ_INIT(&lane->entries[p]);
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum queue_room queue_has_room(const struct queue *queue, const struct queue_lane *lane,
                               size_t size)
{
    if (queue_lane_is_held(lane) || lane->count >= queue->max_lane_count)
        return QUEUE_LANE_FULL;
    if (queue_user_is_owed(lane))
        return QUEUE_ROOM;
    size_t count = queue->count - min(queue->held_count, queue->max_count);
    size_t bytes = queue->bytes - min(queue->held_bytes, queue->max_bytes);
    if (count >= queue->max_count || size > queue->max_bytes || bytes > queue->max_bytes - size)
        return QUEUE_FULL;
    return QUEUE_ROOM;
}

bool queue_user_is_owed(const struct queue_lane *lane)
{
    return !queue_lane_is_held(lane) && TAILQ_EMPTY(&lane->user->ring);
}

static bool has_too_many(const struct queue *queue)
{
    return queue->held_count / 2 > queue->max_count;
}

bool queue_is_overfull(const struct queue *queue)
{
    return has_too_many(queue) || queue->held_bytes / 2 > queue->max_bytes;
}

size_t queue_held_of_user(const struct queue *queue, const struct queue_user *user)
{
    return has_too_many(queue) ? user->held_count : user->held_bytes;
}

size_t queue_held_of_lane(const struct queue *queue, const struct queue_lane *lane)
{
    assert(queue_lane_is_held(lane));
    return has_too_many(queue) ? lane->count : lane->bytes;
}

/* --- the state of a lane ------------------------------------------------------------------- */

/* The state of a lane that is not held. */
static enum queue_lane_state free_state(const struct queue_lane *lane)
{
    return lane->count > 0 ? QUEUE_LANE_IN_RING : QUEUE_LANE_EMPTY;
}

static void leave_ring(struct queue *queue, struct queue_lane *lane)
{
    struct queue_user *user = lane->user;
    TAILQ_REMOVE(&user->ring, lane, link);
    if (TAILQ_EMPTY(&user->ring))
        TAILQ_REMOVE(&queue->ring, user, link);
}

static void enter_ring(struct queue *queue, struct queue_lane *lane)
{
    struct queue_user *user = lane->user;
    if (TAILQ_EMPTY(&user->ring))
        TAILQ_INSERT_TAIL(&queue->ring, user, link);
    TAILQ_INSERT_TAIL(&user->ring, lane, link);
}

/* Counts COUNT entries of BYTES in LANE as held, or no longer. */
static void add_held(struct queue *queue, const struct queue_lane *lane, size_t count, size_t bytes)
{
    queue->held_count += count;
    queue->held_bytes += bytes;
    lane->user->held_count += count;
    lane->user->held_bytes += bytes;
}

static void take_held(struct queue *queue, const struct queue_lane *lane, size_t count,
                      size_t bytes)
{
    struct queue_user *user = lane->user;
    assert(user->held_count >= count && queue->held_count >= user->held_count);
    assert(user->held_bytes >= bytes && queue->held_bytes >= user->held_bytes);
    queue->held_count -= count;
    queue->held_bytes -= bytes;
    user->held_count -= count;
    user->held_bytes -= bytes;
}

/* Changes the state, and with it whether the lane is in the ring and its entries count as held. A
 * lane that comes into the ring goes to the back. */
static void lane_enter(struct queue *queue, struct queue_lane *lane, enum queue_lane_state state)
{
    assert(state == QUEUE_LANE_HELD || state == free_state(lane));
    if (lane->state == state)
        return;
    if (lane->state == QUEUE_LANE_IN_RING)
        leave_ring(queue, lane);
    if (queue_lane_is_held(lane))
        take_held(queue, lane, lane->count, lane->bytes);
    lane->state = state;
    if (state == QUEUE_LANE_IN_RING)
        enter_ring(queue, lane);
    if (state == QUEUE_LANE_HELD)
        add_held(queue, lane, lane->count, lane->bytes);
}

/* Lets the state follow a change of the lane's entries. */
static void settle_lane(struct queue *queue, struct queue_lane *lane)
{
    lane_enter(queue, lane, queue_lane_is_held(lane) ? QUEUE_LANE_HELD : free_state(lane));
}

void queue_hold(struct queue *queue, struct queue_lane *lane, bool held)
{
    lane_enter(queue, lane, held ? QUEUE_LANE_HELD : free_state(lane));
}

/* --- entries ------------------------------------------------------------------------------- */

/* The list of a priority. Index 0 is the highest, so that the lowest set bit is the next to serve.
 */
static unsigned list_of(int priority)
{
    assert(priority >= -QUEUE_PRIORITY_MAX && priority <= QUEUE_PRIORITY_MAX);
    return (unsigned)(QUEUE_PRIORITY_MAX - priority);
}

static unsigned list_of_entry(const struct queue_entry *entry)
{
    return entry->has_begun ? QUEUE_BEGUN : list_of(entry->priority);
}

void queue_push(struct queue *queue, struct queue_lane *lane, struct queue_entry *entry)
{
    assert(!entry->lane);
    unsigned p = list_of_entry(entry);
    TAILQ_INSERT_TAIL(&lane->entries[p], entry, link);
    lane->occupied |= UINT32_C(1) << p;
    lane->count++;
    lane->bytes += entry->size;
    entry->lane = lane;
    queue->count++;
    queue->bytes += entry->size;
    if (queue_lane_is_held(lane))
        add_held(queue, lane, 1, entry->size);
    settle_lane(queue, lane);
}

void queue_remove(struct queue *queue, struct queue_entry *entry)
{
    struct queue_lane *lane = entry->lane;
    assert(lane && lane->count > 0 && queue->count >= lane->count);
    assert(lane->bytes >= entry->size && queue->bytes >= lane->bytes);
    unsigned p = list_of_entry(entry);
    TAILQ_REMOVE(&lane->entries[p], entry, link);
    if (TAILQ_EMPTY(&lane->entries[p]))
        lane->occupied &= ~(UINT32_C(1) << p);
    lane->count--;
    lane->bytes -= entry->size;
    entry->lane = NULL;
    queue->count--;
    queue->bytes -= entry->size;
    if (queue_lane_is_held(lane))
        take_held(queue, lane, 1, entry->size);
    if (entry->has_begun) {
        struct queue_user *user = lane->user;
        assert(user->begun_count > 0 && user->begun_bytes >= entry->kept);
        user->begun_count--;
        user->begun_bytes -= entry->kept;
    }
    settle_lane(queue, lane);
}

/* --- entries that have begun --------------------------------------------------------------- */

/* Whether what USER has begun is to end before he begins more. */
static bool keeps_much(const struct queue_user *user)
{
    return user->begun_count >= QUEUE_BEGUN_MAX || user->begun_bytes >= QUEUE_BEGUN_BYTES;
}

void queue_return(struct queue *queue, struct queue_lane *lane, struct queue_entry *entry,
                  size_t kept)
{
    struct queue_user *user = lane->user;
    entry->has_begun = entry->wants_idle = true;
    entry->kept = kept;
    user->begun_count++;
    user->begun_bytes += kept;
    queue_push(queue, lane, entry);
    if (lane->state == QUEUE_LANE_IN_RING && keeps_much(user)) {
        TAILQ_REMOVE(&user->ring, lane, link);
        TAILQ_INSERT_HEAD(&user->ring, lane, link);
    }
}

bool queue_others_wait(const struct queue *queue, const struct queue_lane *lane)
{
    const struct queue_user *user = TAILQ_FIRST(&queue->ring);
    if (!user)
        return false;
    if (user != lane->user || TAILQ_NEXT(user, link))
        return true;
    const struct queue_lane *first = TAILQ_FIRST(&user->ring);
    return !keeps_much(user) && (first != lane || TAILQ_NEXT(first, link));
}

/* --- who is served next -------------------------------------------------------------------- */

bool queue_can_pop(const struct queue *queue)
{
    return !TAILQ_EMPTY(&queue->ring);
}

struct queue_entry *queue_peek(const struct queue *queue)
{
    const struct queue_user *user = TAILQ_FIRST(&queue->ring);
    return user ? queue_lane_first(TAILQ_FIRST(&user->ring)) : NULL;
}

struct queue_entry *queue_pop(struct queue *queue)
{
    struct queue_user *user = TAILQ_FIRST(&queue->ring);
    if (!user)
        return NULL;
    struct queue_lane *lane = TAILQ_FIRST(&user->ring);
    assert(lane->state == QUEUE_LANE_IN_RING && lane->count > 0);
    struct queue_entry *entry = queue_lane_first(lane);
    /* To the back first: queue_remove() takes the lane out if this was its last entry, and the user
     * if that was his last lane. */
    TAILQ_REMOVE(&user->ring, lane, link);
    TAILQ_INSERT_TAIL(&user->ring, lane, link);
    TAILQ_REMOVE(&queue->ring, user, link);
    TAILQ_INSERT_TAIL(&queue->ring, user, link);
    queue_remove(queue, entry);
    return entry;
}

/* --- what can be seen ---------------------------------------------------------------------- */

struct queue_entry *queue_lane_first(const struct queue_lane *lane)
{
    if (lane->occupied == 0)
        return NULL;
    if (lane->occupied >> QUEUE_BEGUN & 1)
        return TAILQ_FIRST(&lane->entries[QUEUE_BEGUN]);
    return TAILQ_FIRST(&lane->entries[__builtin_ctz(lane->occupied)]);
}

struct queue_entry *queue_lane_oldest(const struct queue_lane *lane, int priority)
{
    return TAILQ_FIRST(&lane->entries[list_of(priority)]);
}

size_t queue_lane_count(const struct queue_lane *lane)
{
    return lane->count;
}

size_t queue_count(const struct queue *queue)
{
    return queue->count;
}

struct queue_load queue_load(const struct queue *queue)
{
    return (struct queue_load){
        .count = queue->count,
        .max_count = queue->max_count,
        .bytes = queue->bytes,
        .max_bytes = queue->max_bytes,
    };
}
