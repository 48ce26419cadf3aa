/* SPDX-License-Identifier: MIT */
/* How much of what all share one may have. */
#include "proto/fair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_amounts(void **state)
{
    (void)state;
    assert_true(fair_may_have(0, 0, 0));
    assert_false(fair_may_have(0, 1, 0));
    /* Three quarters of 400. */
    assert_true(fair_may_have(0, 300, 400));
    assert_false(fair_may_have(0, 304, 400));
    assert_true(fair_may_have(200, 100, 200));
    assert_false(fair_may_have(200, 104, 200));
    /* Of what is left, the next one gets as large a part, and so on. */
    assert_true(fair_may_have(0, 75, 100));
    assert_false(fair_may_have(0, 80, 100));
    /* One that has more than its part, since others have come, gets nothing. */
    assert_false(fair_may_have(300, 1, 50));
    assert_false(fair_may_have(300, 0, 50));
    assert_false(fair_may_have(0, UINT64_MAX, UINT64_MAX - 1));
}

static void test_one_more(void **state)
{
    (void)state;
    assert_false(fair_may_have_one(0, 0));
    assert_true(fair_may_have_one(0, 1));
    assert_true(fair_may_have_one(2, 1));
    assert_false(fair_may_have_one(3, 1));
    assert_true(fair_may_have_one(5, 2));
    assert_false(fair_may_have_one(6, 2));
}

/* A lone one gets three quarters, and whatever the others have, the next one gets something. */
static void test_there_is_room_for_the_next_one(void **state)
{
    (void)state;
    for (uint64_t most = 1; most < 200; most++) {
        uint64_t free = most, last = 0;
        for (unsigned user = 0; free > 0; user++) {
            uint64_t has = 0;
            while (fair_may_have_one(has, free)) {
                has++;
                free--;
            }
            assert_true(has > 0);
            if (user == 0)
                assert_in_range(has, most * 3 / 4, most * 3 / 4 + 1);
            else
                assert_true(has <= last);
            last = has;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_one_more),
        cmocka_unit_test(test_there_is_room_for_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
