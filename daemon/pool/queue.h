/* SPDX-License-Identifier: MIT */
#pragma once
/* The queue of admitted jobs: bounded over all and per connection ("lane"), round-robin between
 * users, round-robin between the connections of one, by priority and then by age within a
 * connection. Jobs that have begun, and gave their slot back to let others have a turn, go before
 * those of their connection that have not. Every operation is O(1). Pure.
 *
 * A job that waits for its next turn keeps memory and descriptors. So the queue bounds such jobs of
 * each user: QUEUE_BEGUN_MAX of them, or QUEUE_BEGUN_BYTES that they keep. A user who has
 * reached it begins no other job. All turns of that user go to the connection whose job came back
 * last, until that job has ended. Meanwhile the user's jobs give their slots back to other users
 * alone.
 *
 * May include: nothing of the tree.
 *
 * Invariants (queue.c asserts them):
 *  - An entry is in a list of its lane exactly while its `lane` is set.
 *  - A lane is in its user's ring exactly while its state is QUEUE_LANE_IN_RING; it has entries
 *    then. One function changes the state. A user is in the queue's ring exactly while a lane is in
 *    his.
 *  - The counts and bytes of the queue are the sums over its lanes, those of held lanes included.
 *    What is held of a user is the sum over that user's held lanes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define QUEUE_PRIORITY_MAX 10
#define QUEUE_PRIORITIES (2 * QUEUE_PRIORITY_MAX + 1)
/* The list of a lane's entries that have begun, behind those of the priorities. */
#define QUEUE_BEGUN QUEUE_PRIORITIES
#define QUEUE_LISTS (QUEUE_PRIORITIES + 1)

#define QUEUE_BEGUN_MAX 16
#define QUEUE_BEGUN_BYTES ((size_t)256 << 20)

struct queue_lane;

/* A user: all lanes of a user share one turn. */
struct queue_user {
    TAILQ_ENTRY(queue_user) link;
    TAILQ_HEAD(, queue_lane) ring; /* the first is served next */
    size_t begun_count,
        begun_bytes; /* of the user's entries that have begun, those of held lanes included */
    size_t held_count, held_bytes; /* of the user's lanes that are held */
};

/* Embedded in a job. */
struct queue_entry {
    TAILQ_ENTRY(queue_entry) link;
    struct queue_lane *lane; /* NULL: not queued */
    size_t size;             /* bytes it counts for */
    size_t kept;             /* bytes that it keeps since it has begun */
    bool has_begun;          /* it was served before */
    bool wants_idle;         /* it takes the turn of an idle slot, and goes ahead on none */
    uint64_t affinity;       /* prefers a slot where one of the same value has run; 0: any */
    int priority;            /* -QUEUE_PRIORITY_MAX to QUEUE_PRIORITY_MAX, the most urgent */
};

TAILQ_HEAD(queue_entries, queue_entry);

enum queue_lane_state {
    QUEUE_LANE_EMPTY,   /* not in the ring: it has no entries */
    QUEUE_LANE_IN_RING, /* its entries are served in turn with those of others */
    QUEUE_LANE_HELD,    /* not in the ring, with entries or without */
};

/* Embedded in a connection. */
struct queue_lane {
    TAILQ_ENTRY(queue_lane) link;
    struct queue_user *user; /* borrowed */
    struct queue_entries entries[QUEUE_LISTS];
    uint32_t occupied; /* bit p: entries[p] is not empty */
    size_t count, bytes;
    enum queue_lane_state state;
};

struct queue {
    TAILQ_HEAD(, queue_user) ring; /* the first is served next */
    size_t count, bytes;
    size_t held_count, held_bytes; /* those of them in lanes that are held */
    size_t max_count, max_bytes, max_lane_count;
};

enum queue_room {
    QUEUE_ROOM,
    QUEUE_LANE_FULL, /* this connection has its share queued */
    QUEUE_FULL,      /* all connections together have */
};

/* How full a queue is. */
struct queue_load {
    size_t count, max_count;
    size_t bytes, max_bytes;
};

void queue_init(struct queue *queue, size_t max_count, size_t max_bytes, size_t max_lane_count);

/* Changes the bounds. Entries that are queued beyond them stay queued. */
void queue_bound(struct queue *queue, size_t max_count, size_t max_bytes, size_t max_lane_count);

void queue_user_init(struct queue_user *user);

/* A lane of USER, who outlives it. */
void queue_lane_init(struct queue_lane *lane, struct queue_user *user);

/* Whether an entry of SIZE bytes may be pushed. Held entries get a separate allowance of the same
 * size as the bounds; only those beyond it take room from others. As long as none of a user's
 * entries could be served there is room for one, whatever its size and whatever others have queued:
 * nothing waits while a slot is idle, and nobody for more than one job of each other user. A held
 * lane has no room. */
enum queue_room queue_has_room(const struct queue *queue, const struct queue_lane *lane,
                               size_t size);

/* Whether no entry of LANE's user could be served, so that there is room for one. */
bool queue_user_is_owed(const struct queue_lane *lane);

/* Whether held entries are beyond twice the bounds. */
bool queue_is_overfull(const struct queue *queue);

/* How much a user, or a held lane, has of what makes the queue overfull: entries, or bytes. */
size_t queue_held_of_user(const struct queue *queue, const struct queue_user *user);
size_t queue_held_of_lane(const struct queue *queue, const struct queue_lane *lane);

/* Queues ENTRY, whose size and priority are set and which is in no queue. The caller has checked
 * that there is room. */
void queue_push(struct queue *queue, struct queue_lane *lane, struct queue_entry *entry);

/* Queues ENTRY again, which was popped and keeps KEPT bytes until its next turn. There is always
 * room for it. It wants an idle slot from now on. */
void queue_return(struct queue *queue, struct queue_lane *lane, struct queue_entry *entry,
                  size_t kept);

/* Whether others could be served before an entry that was returned to LANE now. */
bool queue_others_wait(const struct queue *queue, const struct queue_lane *lane);

/* Removes and returns the next entry, NULL if none may run. Its lane goes to the back of its user's
 * ring, and the user to the back of the queue's. */
struct queue_entry *queue_pop(struct queue *queue);

/* The entry that queue_pop() would return. */
struct queue_entry *queue_peek(const struct queue *queue);

/* Whether queue_pop() would return an entry. */
bool queue_can_pop(const struct queue *queue);

/* Removes ENTRY, which is queued. */
void queue_remove(struct queue *queue, struct queue_entry *entry);

/* Holds LANE, whose entries stay but are not served, or lets it go. */
void queue_hold(struct queue *queue, struct queue_lane *lane, bool held);

/* The first entry of LANE in the order in which it would be served, NULL if it is empty. */
struct queue_entry *queue_lane_first(const struct queue_lane *lane);

/* The oldest entry of LANE with PRIORITY that has not begun, NULL if there is none. */
struct queue_entry *queue_lane_oldest(const struct queue_lane *lane, int priority);

/* How many entries LANE has. */
size_t queue_lane_count(const struct queue_lane *lane);

/* Whether queue_hold() holds LANE. */
static inline bool queue_lane_is_held(const struct queue_lane *lane)
{
    return lane->state == QUEUE_LANE_HELD;
}

/* How many entries there are, held ones included. */
size_t queue_count(const struct queue *queue);

struct queue_load queue_load(const struct queue *queue);
