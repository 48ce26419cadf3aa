/* SPDX-License-Identifier: MIT */
#include "client/batch/attempt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool retriable(const char *code, bool flag, bool all)
{
    _cleanup_json_ json_t *object =
        json_pack("{s:s,s:s,s:b}", "type", "error", "code", code, "retriable", flag);
    const struct message error = {.type = MESSAGE_ERROR, .object = object};
    return attempt_is_retriable(&error, all);
}

static void test_retriable(void **state)
{
    (void)state;
    assert_true(retriable("sandbox_failed", true, false));
    assert_true(retriable("of_a_newer_daemon", true, false));
    assert_false(retriable("rubric_not_found", false, false));
    assert_true(retriable("rubric_not_found", false, true));
    assert_false(retriable("cancelled", false, true));
    assert_false(retriable("draining", true, true));
}

static void test_delay(void **state)
{
    (void)state;
    assert_int_equal(attempt_delay_ms(1), 500);
    assert_int_equal(attempt_delay_ms(2), 1000);
    assert_int_equal(attempt_delay_ms(6), 16000);
    assert_int_equal(attempt_delay_ms(7), 30000);
    assert_int_equal(attempt_delay_ms(1000), 30000);
}

static bool starved(const char *limit, json_t *wait, json_int_t wall)
{
    _cleanup_json_ json_t *object =
        json_pack("{s:{s:s?},s:{s:o,s:I}}", "outcome", "limit_exceeded", limit, "usage",
                  "cpu_wait_ms", wait, "wall_clock_ms", wall);
    const struct message result = {.type = MESSAGE_RESULT, .object = object};
    return attempt_is_starved(&result);
}

static bool error_starved(const char *code)
{
    _cleanup_json_ json_t *object = json_pack("{s:s,s:b}", "code", code, "retriable", true);
    const struct message error = {.type = MESSAGE_ERROR, .object = object};
    return attempt_is_starved(&error);
}

static void test_starved(void **state)
{
    (void)state;
    assert_true(starved("wall_clock", json_integer(500), 1000));
    assert_false(starved("wall_clock", json_integer(499), 1000));
    /* Several processes may wait at the same time. */
    assert_true(starved("wall_clock", json_integer(5000), 1000));
    assert_false(starved("cpu", json_integer(900), 1000));
    assert_false(starved(NULL, json_integer(900), 1000));
    /* The kernel does not say. */
    assert_false(starved("wall_clock", json_null(), 1000));
    assert_false(starved("wall_clock", json_integer(0), 0));
}

static void test_starved_at_a_moved_deadline(void **state)
{
    (void)state;
    _cleanup_json_ json_t *object = json_pack(
        "{s:{s:s},s:{s:i,s:i},s:{s:i,s:i}}", "outcome", "limit_exceeded", "wall_clock", "usage",
        "cpu_wait_ms", 3000, "wall_clock_ms", 4000, "deadline", "moves", 1, "wall_clock_ms", 4000);
    const struct message result = {.type = MESSAGE_RESULT, .object = object};
    assert_false(attempt_is_starved(&result));
    assert_true(error_starved("starved"));
    assert_false(error_starved("sandbox_failed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retriable),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_starved),
        cmocka_unit_test(test_starved_at_a_moved_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
