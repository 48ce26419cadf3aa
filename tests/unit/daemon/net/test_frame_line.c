/* SPDX-License-Identifier: MIT */
#include "daemon/base/clock.h"
#include "daemon/net/frame_line.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define FRAMES 3
#define HEAVY (LIGHT_FRAME_MAX + 1)

struct fixture {
    struct event_base *base;
    struct frame_line line;
    struct frame_user user[2];
    struct frame_turn turn[FRAMES];      /* of the first user */
    unsigned handled[2 * FRAMES], count; /* which, in their order */
    uint64_t takes_ns;                   /* each of them */
    bool has_more;                       /* each has one more behind it */
};

static struct fixture *current;

static void on_turn(struct frame_turn *turn)
{
    struct fixture *f = current;
    assert_false(turn->is_waiting);
    assert_true(frame_turn_take(turn, HEAVY));
    f->handled[f->count++] = (unsigned)(turn - f->turn);
    frame_turn_spend(turn, HEAVY, clock_now_ns() - f->takes_ns);
    if (f->has_more && f->count <= FRAMES)
        (void)frame_turn_take(turn, HEAVY);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->base = event_base_new();
    assert_int_equal(frame_line_init(&f->line, f->base, on_turn), 0);
    for (size_t i = 0; i < ARRAY_SIZE(f->user); i++)
        frame_user_init(&f->user[i]);
    for (size_t i = 0; i < FRAMES; i++) {
        f->turn[i].line = &f->line;
        f->turn[i].user = &f->user[0];
    }
    *state = current = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    frame_line_deinit(&f->line);
    event_base_free(f->base);
    free(f);
    return 0;
}

static void spend_the_budget(struct fixture *f)
{
    assert_true(frame_turn_take(&f->turn[0], HEAVY));
    frame_turn_spend(&f->turn[0], HEAVY, clock_now_ns() - FRAME_BUDGET_MS * NS_PER_MS);
}

static void one_turn(struct fixture *f)
{
    assert_true(event_base_loop(f->base, EVLOOP_ONCE) >= 0);
}

static void frames_share_the_budget_of_a_turn(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 100; i++) { /* they take next to nothing */
        assert_true(frame_turn_take(&f->turn[i % FRAMES], HEAVY));
        frame_turn_spend(&f->turn[i % FRAMES], HEAVY, clock_now_ns());
    }
    f->line.spent_ns[FRAME_HEAVY] = 0;
    spend_the_budget(f);
    assert_false(frame_turn_take(&f->turn[1], HEAVY));
    assert_true(f->turn[1].is_waiting);
    one_turn(f);
    assert_int_equal(f->count, 1);
    assert_int_equal(f->handled[0], 1);
}

static void a_light_one_does_not_wait_for_heavy_ones(void **state)
{
    struct fixture *f = *state;
    spend_the_budget(f);
    assert_false(frame_turn_take(&f->turn[1], HEAVY));
    assert_true(frame_turn_take(&f->turn[0], LIGHT_FRAME_MAX));
    frame_turn_spend(&f->turn[0], LIGHT_FRAME_MAX, clock_now_ns());
    assert_true(frame_turn_take(&f->turn[0], LIGHT_FRAME_MAX));
}

/* A flood of them gives way to whatever else is ready, as heavy ones do. */
static void many_light_ones_share_a_budget_of_their_own(void **state)
{
    struct fixture *f = *state;
    assert_true(frame_turn_take(&f->turn[0], LIGHT_FRAME_MAX));
    frame_turn_spend(&f->turn[0], LIGHT_FRAME_MAX, clock_now_ns() - FRAME_BUDGET_MS * NS_PER_MS);
    assert_false(frame_turn_take(&f->turn[0], LIGHT_FRAME_MAX));
    assert_false(frame_turn_take(&f->turn[1], LIGHT_FRAME_MAX));
    assert_true(frame_turn_take(&f->turn[2], HEAVY));
    f->line.spent_ns[FRAME_HEAVY] = 0;
    one_turn(f);
    assert_int_equal(f->count, 2);
    assert_int_equal(f->handled[0], 0);
    assert_int_equal(f->handled[1], 1);
    assert_true(frame_turn_take(&f->turn[0], LIGHT_FRAME_MAX));
}

/* One that takes the whole budget has a turn of the loop to itself. */
static void one_that_takes_long_is_alone_in_its_turn(void **state)
{
    struct fixture *f = *state;
    f->takes_ns = FRAME_BUDGET_MS * NS_PER_MS;
    f->has_more = true;
    spend_the_budget(f);
    for (size_t i = 0; i < FRAMES; i++)
        assert_false(frame_turn_take(&f->turn[i], HEAVY));
    for (unsigned i = 1; i <= 2 * FRAMES; i++) {
        one_turn(f);
        assert_int_equal(f->count, i);
        assert_int_equal(f->handled[i - 1], (i - 1) % FRAMES);
    }
    assert_false(event_pending(f->line.timer, EV_TIMEOUT, NULL));
}

/* A user who comes late does not wait for all connections of another. */
static void users_take_turns(void **state)
{
    struct fixture *f = *state;
    f->turn[FRAMES - 1].user = &f->user[1];
    f->takes_ns = FRAME_BUDGET_MS * NS_PER_MS;
    f->has_more = true;
    spend_the_budget(f);
    for (size_t i = 0; i < FRAMES; i++)
        assert_false(frame_turn_take(&f->turn[i], HEAVY));
    for (int i = 0; i < 2 * FRAMES - 1; i++)
        one_turn(f);
    static const unsigned expected[] = {0, 2, 1, 2, 0};
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_int_equal(f->handled[i], expected[i]);
}

static void one_that_comes_late_does_not_overtake(void **state)
{
    struct fixture *f = *state;
    spend_the_budget(f);
    assert_false(frame_turn_take(&f->turn[1], HEAVY));
    f->line.spent_ns[FRAME_HEAVY] = 0;
    assert_false(frame_turn_take(&f->turn[0], HEAVY));
    one_turn(f);
    assert_int_equal(f->handled[0], 1);
    assert_int_equal(f->handled[1], 0);
}

static void one_that_has_left_is_not_handled(void **state)
{
    struct fixture *f = *state;
    spend_the_budget(f);
    assert_false(frame_turn_take(&f->turn[1], HEAVY));
    frame_turn_leave(&f->turn[1]);
    frame_turn_leave(&f->turn[1]);
    one_turn(f);
    assert_int_equal(f->count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_share_the_budget_of_a_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(a_light_one_does_not_wait_for_heavy_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(many_light_ones_share_a_budget_of_their_own, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_takes_long_is_alone_in_its_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(users_take_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_comes_late_does_not_overtake, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_has_left_is_not_handled, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
