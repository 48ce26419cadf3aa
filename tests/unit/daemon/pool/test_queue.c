/* SPDX-License-Identifier: MIT */
/* The queue: which entry is served next and which has room, under any order of operations. */
#include "daemon/pool/queue.h"
#include "proto/util.h"
#include "tests/unit/caught.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LANES 4

static bool is_in_ring(const struct queue_lane *lane)
{
    return lane->state == QUEUE_LANE_IN_RING;
}

/* Checks what must hold between two operations. */
static void check_lane(const struct queue_lane *lane)
{
    size_t count = 0;
    for (unsigned p = 0; p < QUEUE_LISTS; p++) {
        const struct queue_entry *entry;
        TAILQ_FOREACH(entry, &lane->entries[p], link)
        {
            assert_ptr_equal(entry->lane, lane);
            assert_int_equal(entry->has_begun ? QUEUE_BEGUN : QUEUE_PRIORITY_MAX - entry->priority,
                             p);
            count++;
        }
        assert_int_equal(lane->occupied >> p & 1, !TAILQ_EMPTY(&lane->entries[p]));
    }
    assert_int_equal(lane->occupied >> QUEUE_LISTS, 0);
    assert_int_equal(lane->count, count);
    bool is_held = queue_lane_is_held(lane);
    assert_int_equal(is_in_ring(lane), count > 0 && !is_held);
    assert_int_equal(queue_lane_first(lane) != NULL, count > 0);
}

static size_t bytes_of(const struct queue_lane *lane)
{
    size_t bytes = 0;
    for (unsigned p = 0; p < QUEUE_LISTS; p++) {
        const struct queue_entry *entry;
        TAILQ_FOREACH(entry, &lane->entries[p], link)
        bytes += entry->size;
    }
    return bytes;
}

static void check(const struct queue *queue, const struct queue_lane *lanes, size_t n)
{
    size_t count = 0, bytes = 0, in_ring = 0;
    for (size_t i = 0; i < n; i++) {
        check_lane(&lanes[i]);
        count += lanes[i].count;
        bytes += bytes_of(&lanes[i]);
        in_ring += is_in_ring(&lanes[i]);
    }
    assert_int_equal(queue->count, count);
    assert_int_equal(queue->bytes, bytes);

    const struct queue_user *user;
    const struct queue_lane *lane;
    TAILQ_FOREACH(user, &queue->ring, link)
    {
        assert_false(TAILQ_EMPTY(&user->ring));
        TAILQ_FOREACH(lane, &user->ring, link)
        {
            assert_ptr_equal(lane->user, user);
            assert_true(is_in_ring(lane));
            assert_true(in_ring-- > 0);
        }
    }
    assert_int_equal(in_ring, 0);
}

/* --- who is served next ------------------------------------------------------------------- */

/* A script works on lanes a, b, c, d and on entries that are named by one character. */
struct world {
    struct queue queue;
    struct queue_user users[LANES];
    struct queue_lane lanes[LANES];
    struct queue_entry entries[128];
};

/* USERS has a digit for each lane: whose it is. */
static void world_of(struct world *world, const char *users)
{
    *world = (struct world){.queue.count = 0};
    queue_init(&world->queue, SIZE_MAX, SIZE_MAX, SIZE_MAX);
    for (size_t i = 0; i < LANES; i++)
        queue_user_init(&world->users[i]);
    for (size_t i = 0; i < LANES; i++)
        queue_lane_init(&world->lanes[i], &world->users[users[i] - '0']);
}

static void world_init(struct world *world)
{
    world_of(world, "0000");
}

static struct queue_lane *lane_named(struct world *world, char name)
{
    assert_in_range(name, 'a', 'a' + LANES - 1);
    return &world->lanes[name - 'a'];
}

/* "x@a" or "x@a-3" */
static void script_push(struct world *world, const char *word)
{
    struct queue_entry *entry = &world->entries[(unsigned char)word[0]];
    assert_null(entry->lane);
    entry->size = (unsigned char)word[0];
    entry->priority = (int)strtol(word + 3, NULL, 10); /* 0 without a number */
    queue_push(&world->queue, lane_named(world, word[2]), entry);
}

static void script_pop(struct world *world, char expected, const char *script)
{
    const struct queue_entry *entry = queue_pop(&world->queue);
    char got = entry ? (char)(entry - world->entries) : '.';
    if (got != expected)
        fail_msg("%s: popped %c, expected %c", script, got, expected);
    if (entry)
        assert_null(entry->lane);
}

static void script_first(struct world *world, const char *word, const char *script)
{
    const struct queue_entry *entry = queue_lane_first(lane_named(world, word[0]));
    char got = entry ? (char)(entry - world->entries) : '.';
    if (got != word[2])
        fail_msg("%s: first of %c is %c, expected %c", script, word[0], got, word[2]);
}

/* One word of a script:
 *   +x@a7   push the entry x to lane a with priority 7    -x    remove the entry x
 *   ?x      pop; it must be x                             ?.    pop; there must be none
 *   *x@a    push x again, which was popped and has begun
 *   !a      hold lane a                                   ~a    let it go
 *   =a:x    the first of lane a must be x */
static void script_word(struct world *world, const char *word, const char *script)
{
    switch (word[0]) {
    case '+':
        script_push(world, word + 1);
        break;
    case '-':
        queue_remove(&world->queue, &world->entries[(unsigned char)word[1]]);
        assert_null(world->entries[(unsigned char)word[1]].lane);
        break;
    case '?':
        script_pop(world, word[1], script);
        break;
    case '*':
        queue_return(&world->queue, lane_named(world, word[3]),
                     &world->entries[(unsigned char)word[1]], 1);
        break;
    case '!':
    case '~':
        queue_hold(&world->queue, lane_named(world, word[1]), word[0] == '!');
        break;
    case '=':
        script_first(world, word + 1, script);
        break;
    default:
        fail_msg("%s: what is %s?", script, word);
    }
    check(&world->queue, world->lanes, LANES);
}

static void run_script_of(const char *users, const char *script)
{
    struct world world;
    char *copy = strdup(script), *rest = NULL;
    assert_non_null(copy);
    world_of(&world, users);
    check(&world.queue, world.lanes, LANES);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        script_word(&world, word, script);
    free(copy);
}

static void run_scripts(const char *const *scripts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        run_script_of("0000", scripts[i]);
}

static void test_lanes_take_turns(void **state)
{
    static const char *const scripts[] = {
        "?. ?.",
        "+1@a ?1 ?.",
        "+1@a +2@a +3@a ?1 ?2 ?3 ?.",
        "+1@a +2@b ?1 ?2 ?.",
        /* A client with many entries waits for a client with one. */
        "+1@a +2@a +3@a +4@a +5@b ?1 ?5 ?2 ?3 ?4 ?.",
        "+1@a +2@a +3@b +4@b +5@c ?1 ?3 ?5 ?2 ?4 ?.",
        /* A lane that was empty comes back at the end. */
        "+1@a +2@b +3@b ?1 +4@a ?2 ?4 ?3 ?.",
        "+1@a ?1 +2@b +3@a ?2 ?3 ?.",
        /* Being served once is a turn, even if more entries came meanwhile. */
        "+1@a +2@b ?1 +3@a +4@a ?2 ?3 ?4 ?.",
        "+1@a +2@b +3@c +4@d ?1 +5@a ?2 +6@b ?3 ?4 ?5 ?6 ?.",
    };
    (void)state;
    run_scripts(scripts, ARRAY_SIZE(scripts));
}

static void test_users_take_turns(void **state)
{
    static const struct {
        const char *users, *script;
    } cases[] = {
        /* However many lanes one has, each other gets every second turn. */
        {"0001", "+1@a +2@b +3@c +4@d +5@d +6@d ?1 ?4 ?2 ?5 ?3 ?6 ?."},
        {"0001", "+1@a +2@a +3@b +4@b +5@c +6@d ?1 ?6 ?3 ?5 ?2 ?4 ?."},
        {"0012", "+1@a +2@b +3@c +4@d +5@a ?1 ?3 ?4 ?2 ?5 ?."},
        {"0011", "+1@a +2@b +3@c +4@d ?1 ?3 ?2 ?4 ?."},
        {"0123", "+1@a +2@a +3@b +4@c +5@d ?1 ?3 ?4 ?5 ?2 ?."},
        /* One who had nothing comes back at the end. */
        {"0012", "+1@a +2@c +3@d ?1 +4@b ?2 ?3 ?4 ?."},
        /* Held lanes and removed entries leave the others' turns alone. */
        {"0011", "+1@a +2@b +3@c !a ?2 ?3 ?. ~a ?1 ?."},
        {"0011", "+1@a +2@b +3@c !a !b ?3 ?. ~b ~a ?2 ?1 ?."},
        {"0011", "+1@a +2@b +3@c -1 ?2 ?3 ?."},
        {"0011", "+1@a +2@b +3@c -1 -2 ?3 ?."},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        run_script_of(cases[i].users, cases[i].script);
}

static void test_each_user_has_room_for_one(void **state)
{
    struct world world;
    (void)state;
    world_of(&world, "0012");
    queue_bound(&world.queue, 2, 1000, 9);
    script_push(&world, "1@a");
    script_push(&world, "2@b");
    assert_int_equal(queue_has_room(&world.queue, &world.lanes[0], 1), QUEUE_FULL);
    assert_false(queue_user_is_owed(&world.lanes[0]));
    assert_true(queue_user_is_owed(&world.lanes[2]));
    assert_int_equal(queue_has_room(&world.queue, &world.lanes[2], 5000), QUEUE_ROOM);
    script_push(&world, "3@c");
    assert_int_equal(queue_has_room(&world.queue, &world.lanes[2], 1), QUEUE_FULL);
    assert_int_equal(queue_has_room(&world.queue, &world.lanes[3], 1), QUEUE_ROOM);
}

static void test_priority_then_age(void **state)
{
    static const char *const scripts[] = {
        "+1@a0 +2@a1 =a:2 ?2 =a:1 ?1 =a:. ?.",
        "+1@a-10 +2@a10 +3@a0 +4@a-9 +5@a9 ?2 ?5 ?3 ?4 ?1 ?.",
        "+1@a3 +2@a3 +3@a3 ?1 ?2 ?3 ?.",
        "+1@a1 +2@a2 +3@a1 +4@a2 ?2 ?4 ?1 ?3 ?.",
        "+1@a-1 ?1 +2@a-10 +3@a-1 ?3 ?2 ?.",
        /* A later, more urgent entry goes first, even between two pops. */
        "+1@a0 +2@a0 ?1 +3@a5 ?3 ?2 ?.",
        /* The priorities of one lane do not move another lane. */
        "+1@a-10 +2@b10 +3@b10 ?1 ?2 ?3 ?.",
        "+1@a-10 +2@b10 +3@a-10 +4@b10 ?1 ?2 ?3 ?4 ?.",
    };
    (void)state;
    run_scripts(scripts, ARRAY_SIZE(scripts));
}

static void test_remove(void **state)
{
    static const char *const scripts[] = {
        "+1@a -1 ?.",
        "+1@a +2@a +3@a -1 ?2 ?3 ?.",
        "+1@a +2@a +3@a -2 ?1 ?3 ?.",
        "+1@a +2@a +3@a -3 ?1 ?2 ?.",
        "+1@a +2@a +3@a -3 -2 -1 ?.",
        "+1@a +2@a -1 +1@a ?2 ?1 ?.",
        /* The only entry of its priority. */
        "+1@a0 +2@a5 -2 =a:1 ?1 ?.",
        "+1@a0 +2@a5 +3@a-5 -1 ?2 ?3 ?.",
        "+1@a10 +2@a-10 -1 =a:2 -2 =a:. ?.",
        /* The only entry of the lane that is at the front, in the middle, at the end. */
        "+1@a +2@b +3@c -1 ?2 ?3 ?.",
        "+1@a +2@b +3@c -2 ?1 ?3 ?.",
        "+1@a +2@b +3@c -3 ?1 ?2 ?.",
        /* Not the only one: the lane keeps its place. */
        "+1@a +2@a +3@b -1 ?2 ?3 ?.",
        /* A lane that left the ring with its last entry comes back at the end. */
        "+1@a +2@b -1 +3@a ?2 ?3 ?.",
        /* Out of a held lane. */
        "+1@a +2@a !a -1 ~a ?2 ?.",
        "+1@a !a -1 ~a ?.",
    };
    (void)state;
    run_scripts(scripts, ARRAY_SIZE(scripts));
}

static void test_hold(void **state)
{
    static const char *const scripts[] = {
        "!a ?. ~a ?.",
        "!a +1@a ?. =a:1 ~a ?1 ?.",
        "+1@a !a ?. ~a ?1 ?.",
        "+1@a +2@b !a ?2 ?. ~a ?1 ?.",
        "+1@a +2@b +3@c !b ?1 ?3 ?. ~b ?2 ?.",
        /* Holding a held lane does nothing. */
        "+1@a !a !a ?. ~a ~a ?1 ?.",
        "+1@a +2@b ~a ?1 ?2 ?.",
        /* All of them. */
        "+1@a +2@b !a !b ?. ~b ?2 ?. ~a ?1 ?.",
        /* A lane that is let go goes to the end. */
        "+1@a +2@b +3@b !a ~a ?2 ?1 ?3 ?.",
        /* Entries that come to a held lane do not let it go. */
        "!a +1@a +2@a5 +3@b ?3 ?. ~a ?2 ?1 ?.",
    };
    (void)state;
    run_scripts(scripts, ARRAY_SIZE(scripts));
}

/* --- jobs that give their slot back ------------------------------------------------------- */

static void test_what_has_begun_goes_on_in_turn(void **state)
{
    static const char *const scripts[] = {
        "+1@a ?1 *1@a ?1 ?.",
        /* Others come first, and each gets every second turn. */
        "+1@a ?1 +2@b *1@a ?2 ?1 ?.",
        "+1@a ?1 +2@b +3@b *1@a ?2 ?1 *1@a ?3 ?1 *1@a ?1 ?.",
        "+1@a +2@b ?1 *1@a ?2 *2@b ?1 *1@a ?2 ?1 ?.",
        /* Of one lane it goes before all that has not begun, however urgent that is. */
        "+1@a +2@a10 ?2 +3@a10 *2@a ?2 ?3 ?1 ?.",
        "+1@a-10 ?1 +2@a10 *1@a =a:1 ?1 ?2 ?.",
        /* The one that waits longest is the first of them. */
        "+1@a +2@a ?1 ?2 *2@a *1@a ?2 *2@a ?1 ?2 ?.",
        /* It is held and removed as any other. */
        "+1@a ?1 !a *1@a ?. ~a ?1 ?.",
        "+1@a ?1 *1@a !a -1 ~a ?.",
        "+1@a +2@a ?1 *1@a -1 ?2 ?.",
    };
    (void)state;
    run_scripts(scripts, ARRAY_SIZE(scripts));
}

static void test_whom_a_slot_is_given_back_for(void **state)
{
    static const struct {
        const char *users, *script;
        bool others_wait; /* for a job of lane a */
    } cases[] = {
        {"0123", "", false},
        {"0123", "+1@a", false},
        {"0123", "+1@b", true},
        {"0123", "+1@a +2@b", true},
        {"0123", "+2@b +1@a", true},
        {"0000", "+1@b", true},
        {"0000", "+1@a +2@b", true},
        {"0123", "+1@b !b", false},
        {"0123", "+1@b ?1 *1@b", true},
        {"0123", "+1@a +2@b ?1 ?2", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct world world;
        _cleanup_free_ char *copy = strdup(cases[i].script);
        char *rest = NULL;
        assert_non_null(copy);
        world_of(&world, cases[i].users);
        for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            script_word(&world, word, cases[i].script);
        if (queue_others_wait(&world.queue, &world.lanes[0]) != cases[i].others_wait)
            fail_msg("%s %s", cases[i].users, cases[i].script);
    }
}

/* Pops the next entry, which must be that of lane NAME, and returns it with KEPT bytes. */
static void take_turn(struct world *world, char name, size_t kept)
{
    struct queue_entry *entry = queue_pop(&world->queue);
    assert_non_null(entry);
    assert_int_equal(entry - world->entries, name);
    queue_return(&world->queue, lane_named(world, name), entry, kept);
    check(&world->queue, world->lanes, LANES);
}

/* A user who keeps much goes on with one of his jobs, and the other users get their turns. */
static void test_what_one_user_has_begun_is_bounded(void **state)
{
    struct world world;
    (void)state;
    world_of(&world, "0001");
    script_push(&world, "a@a");
    script_push(&world, "b@b");
    script_push(&world, "c@c");
    take_turn(&world, 'a', QUEUE_BEGUN_BYTES / 2);
    take_turn(&world, 'b', QUEUE_BEGUN_BYTES / 2);
    assert_int_equal(world.users[0].begun_count, 2);
    assert_int_equal(world.users[0].begun_bytes, QUEUE_BEGUN_BYTES);
    assert_false(queue_others_wait(&world.queue, &world.lanes[1]));
    take_turn(&world, 'b', QUEUE_BEGUN_BYTES / 2);
    script_push(&world, "d@d");
    assert_true(queue_others_wait(&world.queue, &world.lanes[1]));
    take_turn(&world, 'b', QUEUE_BEGUN_BYTES / 2);
    take_turn(&world, 'd', 0);
    script_pop(&world, 'b', "its end");
    script_pop(&world, 'd', "its end");
    /* Then the others of the user are served again. */
    assert_true(queue_others_wait(&world.queue, &world.lanes[1]));
    script_pop(&world, 'c', "the one that waits longest");
    script_pop(&world, 'a', "the next one");
    script_pop(&world, '.', "none is left");
    assert_int_equal(world.users[0].begun_count, 0);
    assert_int_equal(world.users[0].begun_bytes, 0);
}

static void test_the_number_that_one_user_has_begun_is_bounded(void **state)
{
    struct world world;
    (void)state;
    world_of(&world, "0000");
    for (char name = '0'; name < '0' + QUEUE_BEGUN_MAX - 1; name++) {
        const char word[] = {name, '@', 'a', '\0'};
        script_push(&world, word);
    }
    struct queue_entry *begun[QUEUE_BEGUN_MAX - 1];
    for (size_t i = 0; i < ARRAY_SIZE(begun); i++)
        begun[i] = queue_pop(&world.queue);
    for (size_t i = 0; i < ARRAY_SIZE(begun); i++)
        queue_return(&world.queue, &world.lanes[0], begun[i], 0);
    script_push(&world, "b@b");
    script_push(&world, "c@c");
    assert_true(queue_others_wait(&world.queue, &world.lanes[1]));
    assert_ptr_equal(queue_pop(&world.queue), begun[0]);
    take_turn(&world, 'b', 0);
    queue_return(&world.queue, &world.lanes[0], begun[0], 0);
    assert_false(queue_others_wait(&world.queue, &world.lanes[1]));
    check(&world.queue, world.lanes, LANES);
    assert_ptr_equal(queue_pop(&world.queue), begun[1]); /* not c */
}

/* --- what there is room for --------------------------------------------------------------- */

struct bounds_case {
    size_t max_count, max_bytes, max_lane_count;
    const char *pushed; /* lanes of the entries that are there already */
    size_t sizes[4];
    char lane;
    size_t size;
    enum queue_room expected;
};

static void check_bounds(const struct bounds_case *c, size_t number)
{
    struct world world;
    world_init(&world);
    queue_init(&world.queue, c->max_count, c->max_bytes, c->max_lane_count);
    for (size_t i = 0; c->pushed[i]; i++) {
        world.entries[i].size = c->sizes[i];
        queue_push(&world.queue, lane_named(&world, c->pushed[i]), &world.entries[i]);
    }
    check(&world.queue, world.lanes, LANES);
    enum queue_room room = queue_has_room(&world.queue, lane_named(&world, c->lane), c->size);
    if (room != c->expected)
        fail_msg("case %zu: %d, expected %d", number, (int)room, (int)c->expected);
}

static void test_bounds(void **state)
{
    static const struct bounds_case cases[] = {
        {3, 100, 3, "", {0}, 'a', 0, QUEUE_ROOM},
        {3, 100, 3, "", {0}, 'a', 100, QUEUE_ROOM},
        /* An entry larger than the whole bound waits for an empty queue, not for ever. */
        {3, 100, 3, "", {0}, 'a', 101, QUEUE_ROOM},
        {3, 100, 3, "", {0}, 'a', SIZE_MAX, QUEUE_ROOM},
        {3, 100, 3, "b", {0}, 'a', 101, QUEUE_FULL},
        {3, 100, 3, "b", {1}, 'a', SIZE_MAX, QUEUE_FULL},
        /* No other entry joins it. */
        {3, 100, 3, "b", {101}, 'a', 0, QUEUE_FULL},
        {3, 100, 3, "b", {SIZE_MAX}, 'a', 1, QUEUE_FULL},
        {3, 100, 3, "b", {SIZE_MAX}, 'b', 0, QUEUE_FULL},
        /* Bytes. */
        {3, 100, 3, "a", {60}, 'a', 40, QUEUE_ROOM},
        {3, 100, 3, "a", {60}, 'b', 40, QUEUE_ROOM},
        {3, 100, 3, "a", {60}, 'a', 41, QUEUE_FULL},
        {3, 100, 3, "a", {60}, 'b', 41, QUEUE_FULL},
        {3, 100, 3, "a", {100}, 'b', 0, QUEUE_ROOM},
        {3, 100, 3, "a", {100}, 'b', 1, QUEUE_FULL},
        {9, SIZE_MAX, 9, "a", {SIZE_MAX}, 'b', 1, QUEUE_FULL},
        {9, SIZE_MAX, 9, "a", {SIZE_MAX - 1}, 'b', 1, QUEUE_ROOM},
        /* Count. */
        {3, 100, 3, "ab", {1, 1}, 'c', 1, QUEUE_ROOM},
        {3, 100, 3, "abc", {1, 1, 1}, 'd', 1, QUEUE_FULL},
        {3, 100, 3, "abc", {0}, 'd', 0, QUEUE_FULL},
        {1, 100, 3, "a", {0}, 'a', 0, QUEUE_FULL},
        {1, 100, 3, "", {0}, 'a', 0, QUEUE_ROOM},
        /* The lane's share. */
        {9, 100, 2, "a", {1}, 'a', 1, QUEUE_ROOM},
        {9, 100, 2, "aa", {1, 1}, 'a', 1, QUEUE_LANE_FULL},
        {9, 100, 2, "aa", {1, 1}, 'b', 1, QUEUE_ROOM},
        {9, 100, 1, "a", {1}, 'a', 0, QUEUE_LANE_FULL},
        /* Both bounds are reached: the error names the lane's. */
        {2, 100, 2, "aa", {1, 1}, 'a', 1, QUEUE_LANE_FULL},
        {2, 100, 2, "aa", {1, 1}, 'b', 1, QUEUE_FULL},
        {9, 100, 1, "a", {100}, 'a', 101, QUEUE_LANE_FULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_bounds(&cases[i], i);
}

static void test_room_comes_back(void **state)
{
    struct world world;
    (void)state;
    world_init(&world);
    queue_init(&world.queue, 2, 10, 1);
    struct queue_lane *a = &world.lanes[0], *b = &world.lanes[1];

    world.entries[0].size = 10;
    queue_push(&world.queue, a, &world.entries[0]);
    assert_int_equal(queue_has_room(&world.queue, b, 1), QUEUE_FULL);
    assert_int_equal(queue_has_room(&world.queue, a, 0), QUEUE_LANE_FULL);
    queue_hold(&world.queue, a, true); /* its entries use their own allowance now */
    assert_int_equal(queue_has_room(&world.queue, b, 1), QUEUE_ROOM);
    assert_int_equal(queue_has_room(&world.queue, a, 0), QUEUE_LANE_FULL);
    queue_hold(&world.queue, a, false);
    assert_int_equal(queue_has_room(&world.queue, b, 1), QUEUE_FULL);
    queue_remove(&world.queue, &world.entries[0]);
    assert_int_equal(queue_has_room(&world.queue, a, 10), QUEUE_ROOM);

    world.entries[1].size = 11;
    queue_push(&world.queue, b, &world.entries[1]);
    assert_int_equal(queue_has_room(&world.queue, a, 0), QUEUE_FULL);
    assert_ptr_equal(queue_pop(&world.queue), &world.entries[1]);
    assert_int_equal(queue_has_room(&world.queue, a, 0), QUEUE_ROOM);
}

/* Held entries have an allowance of the size of the bounds, not more. */
static void test_held_entries_are_bounded_too(void **state)
{
    struct world world;
    (void)state;
    world_init(&world);
    queue_init(&world.queue, 2, 100, 3);
    struct queue_lane *a = &world.lanes[0], *b = &world.lanes[1], *c = &world.lanes[2];
    queue_hold(&world.queue, a, true);
    for (size_t i = 0; i < 3; i++) {
        world.entries[i].size = 1;
        queue_push(&world.queue, a, &world.entries[i]);
    }
    /* Three are held and the allowance is two: one counts. */
    assert_int_equal(queue_has_room(&world.queue, b, 1), QUEUE_ROOM);
    world.entries[3].size = 1;
    queue_push(&world.queue, b, &world.entries[3]);
    assert_int_equal(queue_has_room(&world.queue, c, 1), QUEUE_FULL);
    queue_remove(&world.queue, &world.entries[0]);
    assert_int_equal(queue_has_room(&world.queue, c, 1), QUEUE_ROOM);
}

/* Whatever is held, there is room for one entry that can be served. */
static void test_held_entries_keep_nobody_from_an_idle_slot(void **state)
{
    struct world world;
    (void)state;
    world_init(&world);
    queue_init(&world.queue, 2, 100, 9);
    struct queue_lane *a = &world.lanes[0], *b = &world.lanes[1];
    queue_hold(&world.queue, a, true);
    for (size_t i = 0; i < 5; i++) {
        world.entries[i].size = 1;
        queue_push(&world.queue, a, &world.entries[i]);
        assert_false(queue_is_overfull(&world.queue));
    }
    assert_int_equal(queue_has_room(&world.queue, a, 1), QUEUE_LANE_FULL);
    assert_int_equal(queue_has_room(&world.queue, b, 1), QUEUE_ROOM);
    world.entries[5].size = 1000;
    queue_push(&world.queue, b, &world.entries[5]);
    assert_int_equal(queue_has_room(&world.queue, b, 1), QUEUE_FULL);
    world.entries[6].size = 1;
    queue_push(&world.queue, a, &world.entries[6]);
    assert_true(queue_is_overfull(&world.queue));
}

static void test_held_bytes_are_bounded(void **state)
{
    struct world world;
    (void)state;
    world_init(&world);
    queue_init(&world.queue, 100, 100, 9);
    struct queue_lane *a = &world.lanes[0];
    world.entries[0].size = 201;
    world.entries[1].size = 1;
    queue_push(&world.queue, a, &world.entries[0]);
    assert_false(queue_is_overfull(&world.queue));
    queue_hold(&world.queue, a, true);
    assert_false(queue_is_overfull(&world.queue));
    queue_push(&world.queue, a, &world.entries[1]);
    assert_true(queue_is_overfull(&world.queue));
    queue_hold(&world.queue, a, false);
    assert_false(queue_is_overfull(&world.queue));
}

/* --- assertions ---------------------------------------------------------------------------- */

static void push_with_priority(struct world *world, int priority)
{
    world->entries['y'].priority = priority;
    queue_push(&world->queue, &world->lanes[0], &world->entries['y']);
}

/* Takes an entry out of a queue that it is not in. */
static void remove_from_another(struct world *world)
{
    struct queue other;
    queue_init(&other, SIZE_MAX, SIZE_MAX, SIZE_MAX);
    queue_remove(&other, &world->entries['x']);
}

static void test_what_must_not_be_is_caught(void **state)
{
    struct world world;
    (void)state;
    world_init(&world);
    script_push(&world, "x@a");
    assert_caught(queue_push(&world.queue, &world.lanes[1], &world.entries['x']));
    assert_caught(queue_remove(&world.queue, &world.entries['y']));
    assert_caught(remove_from_another(&world));
    assert_caught(push_with_priority(&world, QUEUE_PRIORITY_MAX + 1));
    assert_not_caught(push_with_priority(&world, -QUEUE_PRIORITY_MAX));
    world.lanes[0].count = 0; /* in the ring, and empty */
    assert_caught(queue_pop(&world.queue));
}

static void test_what_can_be_seen(void **state)
{
    struct world world;
    (void)state;
    world_init(&world);
    script_push(&world, "x@a5");
    script_push(&world, "y@a5");
    script_push(&world, "z@b");
    assert_ptr_equal(queue_lane_oldest(&world.lanes[0], 5), &world.entries['x']);
    assert_null(queue_lane_oldest(&world.lanes[0], 4));
    assert_int_equal(queue_lane_count(&world.lanes[0]), 2);
    assert_int_equal(queue_count(&world.queue), 3);
    queue_bound(&world.queue, 7, 8, 9);
    struct queue_load load = queue_load(&world.queue);
    assert_int_equal(load.count, 3);
    assert_int_equal(load.max_count, 7);
    assert_int_equal(load.bytes, 'x' + 'y' + 'z');
    assert_int_equal(load.max_bytes, 8);
}

/* --- against a naive model ---------------------------------------------------------------- */

#define MODEL_LANES 9
#define MODEL_ENTRIES 96
#define MODEL_OPERATIONS 100000

struct model_entry {
    bool queued;
    size_t lane, size;
    int priority;
    uint64_t age;
};

struct model {
    struct model_entry entries[MODEL_ENTRIES];
    size_t order[MODEL_LANES]; /* of the lanes that may be served; the first is next */
    size_t order_count;
    bool held[MODEL_LANES];
    uint64_t last_age;
};

/* The real queue, the model, and how long each lane has been waiting. */
struct pair {
    struct queue queue;
    struct queue_user user;
    struct queue_lane lanes[MODEL_LANES];
    struct queue_entry entries[MODEL_ENTRIES];
    struct model model;
    size_t passed_over[MODEL_LANES]; /* pops since the lane could be served */
    uint64_t random;
};

static uint32_t random_below(struct pair *pair, uint32_t n)
{
    pair->random ^= pair->random << 13;
    pair->random ^= pair->random >> 7;
    pair->random ^= pair->random << 17;
    return (uint32_t)(pair->random >> 32) % n;
}

static size_t model_count(const struct model *model, size_t lane)
{
    size_t count = 0;
    for (size_t i = 0; i < MODEL_ENTRIES; i++)
        count +=
            model->entries[i].queued && (lane == MODEL_LANES || model->entries[i].lane == lane);
    return count;
}

static size_t model_bytes(const struct model *model)
{
    size_t bytes = 0;
    for (size_t i = 0; i < MODEL_ENTRIES; i++)
        bytes += model->entries[i].queued ? model->entries[i].size : 0;
    return bytes;
}

static bool model_goes_before(const struct model_entry *a, const struct model_entry *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->age < b->age;
}

/* MODEL_ENTRIES: none */
static size_t model_first(const struct model *model, size_t lane)
{
    size_t best = MODEL_ENTRIES;
    for (size_t i = 0; i < MODEL_ENTRIES; i++)
        if (model->entries[i].queued && model->entries[i].lane == lane &&
            (best == MODEL_ENTRIES || model_goes_before(&model->entries[i], &model->entries[best])))
            best = i;
    return best;
}

static size_t model_place(const struct model *model, size_t lane)
{
    size_t i = 0;
    while (i < model->order_count && model->order[i] != lane)
        i++;
    return i;
}

static void model_leave(struct model *model, size_t lane)
{
    size_t place = model_place(model, lane);
    if (place == model->order_count)
        return;
    model->order_count--;
    for (size_t i = place; i < model->order_count; i++)
        model->order[i] = model->order[i + 1];
}

static void model_settle(struct model *model, size_t lane)
{
    bool belongs = !model->held[lane] && model_count(model, lane) > 0;
    if (!belongs)
        model_leave(model, lane);
    else if (model_place(model, lane) == model->order_count)
        model->order[model->order_count++] = lane;
}

/* Held entries up to the bound do not count; those beyond it do. */
static size_t beyond(size_t held, size_t bound)
{
    return held > bound ? held - bound : 0;
}

static enum queue_room model_room(const struct pair *pair, size_t lane, size_t size)
{
    const struct model *model = &pair->model;
    size_t count = 0, bytes = 0, held_count = 0, held_bytes = 0;
    for (size_t i = 0; i < MODEL_ENTRIES; i++) {
        const struct model_entry *entry = &model->entries[i];
        if (!entry->queued)
            continue;
        bool held = model->held[entry->lane];
        *(held ? &held_count : &count) += 1;
        *(held ? &held_bytes : &bytes) += entry->size;
    }
    count += beyond(held_count, pair->queue.max_count);
    bytes += beyond(held_bytes, pair->queue.max_bytes);
    if (model->held[lane] || model_count(model, lane) >= pair->queue.max_lane_count)
        return QUEUE_LANE_FULL;
    if (model->order_count > 0 &&
        (count + 1 > pair->queue.max_count || bytes + size > pair->queue.max_bytes))
        return QUEUE_FULL;
    return QUEUE_ROOM;
}

static size_t model_pop(struct model *model)
{
    if (model->order_count == 0)
        return MODEL_ENTRIES;
    size_t lane = model->order[0], entry = model_first(model, lane);
    model->entries[entry].queued = false;
    model_leave(model, lane);
    model_settle(model, lane);
    return entry;
}

static void pair_init(struct pair *pair, uint64_t seed)
{
    *pair = (struct pair){.random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1};
    queue_init(&pair->queue, 70, 4000, 20);
    queue_user_init(&pair->user);
    for (size_t i = 0; i < MODEL_LANES; i++)
        queue_lane_init(&pair->lanes[i], &pair->user);
}

static void pair_push(struct pair *pair)
{
    size_t i = random_below(pair, MODEL_ENTRIES), lane = random_below(pair, MODEL_LANES);
    if (pair->model.entries[i].queued)
        return;
    size_t size = random_below(pair, 50) == 0 ? 5000 : random_below(pair, 120);
    enum queue_room room = queue_has_room(&pair->queue, &pair->lanes[lane], size);
    assert_int_equal(room, model_room(pair, lane, size));
    if (room != QUEUE_ROOM)
        return;
    int priority = (int)random_below(pair, QUEUE_PRIORITIES) - QUEUE_PRIORITY_MAX;
    pair->entries[i].size = size;
    pair->entries[i].priority = priority;
    queue_push(&pair->queue, &pair->lanes[lane], &pair->entries[i]);
    pair->model.entries[i] = (struct model_entry){.queued = true,
                                                  .lane = lane,
                                                  .size = size,
                                                  .priority = priority,
                                                  .age = ++pair->model.last_age};
    model_settle(&pair->model, lane);
}

/* A lane that may be served is served within as many pops as there are lanes. */
static void count_waiting(struct pair *pair, size_t served)
{
    for (size_t lane = 0; lane < MODEL_LANES; lane++) {
        pair->passed_over[lane] = lane == served ? 0 : pair->passed_over[lane] + 1;
        assert_true(!is_in_ring(&pair->lanes[lane]) || pair->passed_over[lane] < MODEL_LANES);
    }
}

static void pair_pop(struct pair *pair)
{
    size_t expected = model_pop(&pair->model);
    bool can_pop = queue_can_pop(&pair->queue);
    struct queue_entry *entry = queue_pop(&pair->queue);
    assert_int_equal(can_pop, entry != NULL);
    if (expected == MODEL_ENTRIES) {
        assert_null(entry);
        return;
    }
    assert_ptr_equal(entry, &pair->entries[expected]);
    assert_null(entry->lane);
    count_waiting(pair, pair->model.entries[expected].lane);
}

static void pair_remove(struct pair *pair)
{
    size_t i = random_below(pair, MODEL_ENTRIES);
    if (!pair->model.entries[i].queued)
        return;
    queue_remove(&pair->queue, &pair->entries[i]);
    pair->model.entries[i].queued = false;
    model_settle(&pair->model, pair->model.entries[i].lane);
}

static void pair_hold(struct pair *pair)
{
    size_t lane = random_below(pair, MODEL_LANES);
    bool held = random_below(pair, 3) == 0;
    queue_hold(&pair->queue, &pair->lanes[lane], held);
    pair->model.held[lane] = held;
    model_settle(&pair->model, lane);
}

static void pair_operate(struct pair *pair, uint32_t pushes)
{
    uint32_t what = random_below(pair, 100);
    if (what < pushes)
        pair_push(pair);
    else if (what < 80)
        pair_pop(pair);
    else if (what < 90)
        pair_remove(pair);
    else
        pair_hold(pair);
    for (size_t lane = 0; lane < MODEL_LANES; lane++)
        if (!is_in_ring(&pair->lanes[lane]))
            pair->passed_over[lane] = 0;
}

static void pair_compare(struct pair *pair)
{
    const struct model *model = &pair->model;
    assert_int_equal(queue_count(&pair->queue), model_count(model, MODEL_LANES));
    assert_int_equal(pair->queue.bytes, model_bytes(model));
    size_t place = 0;
    const struct queue_lane *lane;
    TAILQ_FOREACH(lane, &pair->user.ring, link)
    assert_int_equal(lane - pair->lanes, model->order[place++]);
    assert_int_equal(place, model->order_count);

    size_t probe = random_below(pair, MODEL_LANES), first = model_first(model, probe);
    assert_ptr_equal(queue_lane_first(&pair->lanes[probe]),
                     first == MODEL_ENTRIES ? NULL : &pair->entries[first]);
}

/* *state is the seed. */
static void test_differential(void **state)
{
    const uint64_t *seed = *state;
    struct pair pair;
    pair_init(&pair, *seed);
    for (unsigned i = 0; i < MODEL_OPERATIONS; i++) {
        /* The queue fills up and runs empty in turns. */
        pair_operate(&pair, i / 1000 % 2 ? 65 : 30);
        pair_compare(&pair);
        if (i % 100 == 0)
            check(&pair.queue, pair.lanes, MODEL_LANES);
    }
    for (size_t lane = 0; lane < MODEL_LANES; lane++) {
        queue_hold(&pair.queue, &pair.lanes[lane], false);
        pair.model.held[lane] = false;
        model_settle(&pair.model, lane);
    }
    while (queue_count(&pair.queue) > 0)
        pair_pop(&pair);
    pair_pop(&pair);
    check(&pair.queue, pair.lanes, MODEL_LANES);
    assert_int_equal(pair.queue.bytes, 0);
}

/* A batch of 100,000 does not keep a single job waiting. */
static void test_no_starvation(void **state)
{
    enum { BATCH = 100000 };
    struct world world;
    struct queue_entry *batch = calloc(BATCH, sizeof(*batch));
    (void)state;
    assert_non_null(batch);
    world_init(&world);
    for (size_t i = 0; i < BATCH; i++) {
        batch[i].priority = QUEUE_PRIORITY_MAX;
        queue_push(&world.queue, &world.lanes[0], &batch[i]);
    }
    world.entries[0].priority = -QUEUE_PRIORITY_MAX;
    queue_push(&world.queue, &world.lanes[1], &world.entries[0]);
    assert_ptr_equal(queue_pop(&world.queue), &batch[0]);
    assert_ptr_equal(queue_pop(&world.queue), &world.entries[0]);
    for (size_t i = 1; i < BATCH; i++)
        assert_ptr_equal(queue_pop(&world.queue), &batch[i]);
    assert_null(queue_pop(&world.queue));
    check(&world.queue, world.lanes, LANES);
    free(batch);
}

int main(void)
{
    uint64_t seeds[] = {1, 2, 3};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_take_turns),
        cmocka_unit_test(test_users_take_turns),
        cmocka_unit_test(test_each_user_has_room_for_one),
        cmocka_unit_test(test_priority_then_age),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_what_has_begun_goes_on_in_turn),
        cmocka_unit_test(test_whom_a_slot_is_given_back_for),
        cmocka_unit_test(test_what_one_user_has_begun_is_bounded),
        cmocka_unit_test(test_the_number_that_one_user_has_begun_is_bounded),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_room_comes_back),
        cmocka_unit_test(test_held_entries_are_bounded_too),
        cmocka_unit_test(test_held_entries_keep_nobody_from_an_idle_slot),
        cmocka_unit_test(test_held_bytes_are_bounded),
        cmocka_unit_test(test_what_must_not_be_is_caught),
        cmocka_unit_test(test_what_can_be_seen),
        {"test_differential_seed_1", test_differential, NULL, NULL, &seeds[0]},
        {"test_differential_seed_2", test_differential, NULL, NULL, &seeds[1]},
        {"test_differential_seed_3", test_differential, NULL, NULL, &seeds[2]},
        cmocka_unit_test(test_no_starvation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
