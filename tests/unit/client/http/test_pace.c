/* SPDX-License-Identifier: MIT */
#include "client/http/pace.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_MAX 200

struct fixture;

/* Has some bodies of one size, one after the other. */
struct client {
    struct pace_waiter turn;
    struct fixture *fixture;
    const char *name;
    size_t size, bodies;
};

struct fixture {
    struct event_base *base;
    struct pace pace;
    char read[TEXT_MAX]; /* the names of those whose bodies were read; "|" ends a turn */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->base = event_base_new();
    assert_int_equal(pace_init(&f->pace, f->base), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    pace_deinit(&f->pace);
    event_base_free(f->base);
    free(f);
    return 0;
}

static void add(struct fixture *f, const char *text)
{
    size_t n = strlen(f->read);
    (void)snprintf(f->read + n, TEXT_MAX - n, "%s", text);
}

static void read_body(struct waiter *waiter)
{
    struct client *client = container_of(waiter, struct client, turn.waiter);
    struct fixture *f = client->fixture;
    if (!pace_take(&f->pace, &client->turn, client->size))
        return;
    add(f, client->name);
    if (--client->bodies > 0)
        pace_wait(&f->pace, &client->turn);
}

static struct client make(struct fixture *f, const char *name, const char *share, size_t size)
{
    return (struct client){.turn = {.waiter = {.again = read_body}, .share = share},
                           .fixture = f,
                           .name = name,
                           .size = size,
                           .bodies = 1};
}

/* Lets everybody go on; returns what was read in each turn. */
static const char *run(struct fixture *f)
{
    while (!TAILQ_EMPTY(&f->pace.waiters)) {
        size_t n = strlen(f->read);
        assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
        if (strlen(f->read) > n)
            add(f, "|");
    }
    return f->read;
}

static void test_large_bodies_are_read_one_in_a_turn(void **state)
{
    struct fixture *f = *state;
    struct client clients[] = {make(f, "a", "", 16 << 20), make(f, "b", "", PACE_TURN),
                               make(f, "c", "", 16 << 20)};
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
        read_body(&clients[i].turn.waiter);
    assert_string_equal(f->read, "a");
    assert_string_equal(run(f), "ab|c|");
}

static void test_small_bodies_share_a_turn(void **state)
{
    struct fixture *f = *state;
    size_t third = PACE_TURN / 3;
    struct client clients[] = {make(f, "a", "", third), make(f, "b", "", third),
                               make(f, "c", "", third), make(f, "d", "", third),
                               make(f, "e", "", 1),     make(f, "f", "", 1)};
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
        read_body(&clients[i].turn.waiter);
    assert_string_equal(f->read, "abc");
    assert_string_equal(run(f), "abcdef|");
}

/* An empty body is none that is free. */
static void test_each_body_costs_something(void **state)
{
    struct fixture *f = *state;
    struct client client = make(f, "", "", 0);
    size_t n = 0;
    while (pace_take(&f->pace, &client.turn, 0))
        assert_true(++n <= PACE_TURN);
    assert_int_equal(n, PACE_TURN / PACE_LINE);
    waiter_wait_no_more(&client.turn.waiter);
}

/* Alice came first with all of hers. Names that are equal need not be the same string. */
static void test_shares_take_turns(void **state)
{
    struct fixture *f = *state;
    const char other[] = "alice";
    struct client clients[] = {make(f, "A", "alice", PACE_TURN), make(f, "1", "alice", PACE_TURN),
                               make(f, "2", other, PACE_TURN),   make(f, "3", "alice", PACE_TURN),
                               make(f, "x", "bob", PACE_TURN),   make(f, "y", "bob", PACE_TURN),
                               make(f, "z", "carol", PACE_TURN)};
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
        read_body(&clients[i].turn.waiter);
    assert_string_equal(run(f), "A1|x|z|2|y|3|");
}

/* A stream comes back for each of its parts, and neither it nor what waits is left behind. */
static void test_who_comes_back_stands_behind_the_others(void **state)
{
    struct fixture *f = *state;
    struct client clients[] = {make(f, "s", "alice", PACE_TURN), make(f, "x", "bob", PACE_TURN),
                               make(f, "y", "bob", PACE_TURN), make(f, "t", "alice", PACE_TURN)};
    clients[0].bodies = 4;
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
        read_body(&clients[i].turn.waiter);
    assert_string_equal(run(f), "ss|x|y|t|s|s|");
}

static void test_who_leaves_gets_no_turn(void **state)
{
    struct fixture *f = *state;
    struct client clients[] = {make(f, "a", "", PACE_TURN), make(f, "b", "", PACE_TURN),
                               make(f, "c", "", PACE_TURN)};
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
        read_body(&clients[i].turn.waiter);
    waiter_wait_no_more(&clients[1].turn.waiter);
    assert_string_equal(run(f), "ac|");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_large_bodies_are_read_one_in_a_turn),
        TEST(test_small_bodies_share_a_turn),
        TEST(test_each_body_costs_something),
        TEST(test_shares_take_turns),
        TEST(test_who_comes_back_stands_behind_the_others),
        TEST(test_who_leaves_gets_no_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
