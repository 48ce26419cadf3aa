/* SPDX-License-Identifier: MIT */
#include "client/fleet/turns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct scene {
    struct turns turns;
    struct turn_lane a, b;
    struct turn_entry entries[6];
};

static void begin(struct scene *scene)
{
    *scene = (struct scene){.entries = {{.lane = NULL}}};
    turns_init(&scene->turns);
    turn_lane_init(&scene->a);
    turn_lane_init(&scene->b);
}

/* One connection with many jobs does not hold up another one with one. */
static void test_connections_take_turns(void **state)
{
    struct scene s;
    (void)state;
    begin(&s);
    for (size_t i = 0; i < 3; i++)
        turns_push(&s.turns, &s.a, &s.entries[i], 0);
    turns_push(&s.turns, &s.b, &s.entries[3], 0);
    assert_ptr_equal(turns_next(&s.turns), &s.entries[0]);
    assert_ptr_equal(turns_next(&s.turns), &s.entries[3]);
    assert_ptr_equal(turns_next(&s.turns), &s.entries[1]);
    assert_ptr_equal(turns_next(&s.turns), &s.entries[2]);
    assert_null(turns_next(&s.turns));
}

static void test_priority_counts_within_a_connection(void **state)
{
    struct scene s;
    (void)state;
    begin(&s);
    turns_push(&s.turns, &s.a, &s.entries[0], NAMES_PRIORITY_MIN);
    turns_push(&s.turns, &s.a, &s.entries[1], NAMES_PRIORITY_MAX);
    turns_push(&s.turns, &s.a, &s.entries[2], NAMES_PRIORITY_MAX);
    turns_push(&s.turns, &s.b, &s.entries[3], 0);
    assert_ptr_equal(turns_next(&s.turns), &s.entries[1]);
    assert_ptr_equal(turns_next(&s.turns), &s.entries[3]);
    assert_ptr_equal(turns_next(&s.turns), &s.entries[2]);
    assert_ptr_equal(turns_next(&s.turns), &s.entries[0]);
}

static void test_a_held_connection_is_passed_over(void **state)
{
    struct scene s;
    (void)state;
    begin(&s);
    turns_push(&s.turns, &s.a, &s.entries[0], 0);
    turns_push(&s.turns, &s.b, &s.entries[1], 0);
    s.a.is_held = true;
    assert_ptr_equal(turns_next(&s.turns), &s.entries[1]);
    assert_null(turns_next(&s.turns));
    s.a.is_held = false;
    assert_ptr_equal(turns_next(&s.turns), &s.entries[0]);
}

static void test_what_is_taken_out_has_no_turn(void **state)
{
    struct scene s;
    (void)state;
    begin(&s);
    turns_push(&s.turns, &s.a, &s.entries[0], 0);
    turns_push(&s.turns, &s.a, &s.entries[1], 0);
    turns_remove(&s.turns, &s.entries[0]);
    assert_int_equal(s.a.n, 1);
    assert_ptr_equal(turns_next(&s.turns), &s.entries[1]);
    assert_int_equal(s.a.n, 0);
    assert_null(turns_next(&s.turns));
    turns_push(&s.turns, &s.a, &s.entries[0], 0); /* it may wait again */
    assert_ptr_equal(turns_next(&s.turns), &s.entries[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connections_take_turns),
        cmocka_unit_test(test_priority_counts_within_a_connection),
        cmocka_unit_test(test_a_held_connection_is_passed_over),
        cmocka_unit_test(test_what_is_taken_out_has_no_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
