/* SPDX-License-Identifier: MIT */
#include "client/fleet/sumstatus.h"
#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* What a daemon says; the parts that differ by daemon are N times as much. */
static json_t *status_of(int n, bool has_c)
{
    _cleanup_json_ json_t *window =
        json_pack("{s:i,s:i,s:i,s:i,s:i,s:f,s:{s:f},s:n}", "seconds", 60, "span_ms", 1000 * n,
                  "passed", n, "failed", 2 * n, "errors", 0, "per_second", 0.5 * n, "wall_clock_ms",
                  "p50", 10.0 * n, "queue_ms");
    return json_pack(
        "{s:s,s:{s:i},s:[{s:i,s:s,s:n}],s:{s:i,s:i},s:{s:i,s:i,s:i,s:i,s:{s:i}},"
        "s:{s:{s:i,s:i,s:i,s:{s:i},s:{},s:i,s:[O,O,O]}},s:{s:s},s:[{s:s,s:b,s:s}],s:{s:i,s:i},s:{s:"
        "i}}",
        "version", "1.0", "configuration", "slots", n, "slots", "slot", 0, "state", "idle", "job",
        "queue", "jobs", n, "bytes", 10 * n, "counters", "submitted", 5 * n, "results", 3 * n,
        "passed", n, "failed", 2 * n, "errors", "starved", n, "kinds", "sandbox", "submitted",
        5 * n, "passed", n, "failed", 2 * n, "errors", "starved", n, "limits_exceeded", "dropped",
        n, "recent", window, window, window, "isolation", "digest", "x", "languages", "name", "c",
        "available", has_c, "version", "gcc", "memory", "rss_bytes", n, "max_rss_bytes", n, "log",
        "dropped", n);
}

static json_t *path(json_t *object, const char *first, const char *second)
{
    return json_object_get(json_object_get(object, first), second);
}

static void expect_integer(json_t *value, json_int_t expected)
{
    assert_true(json_is_integer(value));
    assert_int_equal(json_integer_value(value), expected);
}

static void test_counts_are_sums(void **state)
{
    _cleanup_json_ json_t *statuses = json_pack("[o,o]", status_of(1, true), status_of(10, true));
    _cleanup_json_ json_t *sum = sumstatus_make(statuses, 1234);
    json_t *kind = path(sum, "kinds", "sandbox");
    json_t *window = json_array_get(json_object_get(kind, "recent"), 1);
    (void)state;
    expect_integer(path(sum, "counters", "submitted"), 55);
    expect_integer(path(sum, "counters", "results"), 33);
    expect_integer(json_object_get(path(sum, "counters", "errors"), "starved"), 11);
    expect_integer(path(sum, "queue", "jobs"), 11);
    expect_integer(path(sum, "configuration", "slots"), 11);
    expect_integer(json_object_get(kind, "failed"), 22);
    expect_integer(json_object_get(kind, "dropped"), 11);
    expect_integer(json_object_get(window, "passed"), 11);
    expect_integer(json_object_get(window, "seconds"), 300);
    assert_true(json_real_value(json_object_get(window, "per_second")) == 5.5);
    expect_integer(json_object_get(sum, "uptime_ms"), 1234);
    /* A kind that no daemon has had is there all the same. */
    expect_integer(json_object_get(path(sum, "kinds", "program"), "submitted"), 0);
}

static void test_of_times_the_greatest_counts(void **state)
{
    _cleanup_json_ json_t *statuses = json_pack("[o,o]", status_of(10, true), status_of(1, true));
    _cleanup_json_ json_t *sum = sumstatus_make(statuses, 0);
    json_t *window = json_array_get(json_object_get(path(sum, "kinds", "sandbox"), "recent"), 0);
    (void)state;
    assert_true(json_real_value(path(window, "wall_clock_ms", "p50")) == 100.0);
    assert_true(json_is_null(json_object_get(window, "queue_ms")));
    expect_integer(json_object_get(window, "span_ms"), 10000);
}

static void test_slots_have_numbers_of_their_own(void **state)
{
    _cleanup_json_ json_t *statuses = json_pack("[o,o]", status_of(1, true), status_of(1, true));
    _cleanup_json_ json_t *sum = sumstatus_make(statuses, 0);
    json_t *slots = json_object_get(sum, "slots");
    (void)state;
    assert_int_equal(json_array_size(slots), 2);
    expect_integer(json_object_get(json_array_get(slots, 0), "slot"), 0);
    expect_integer(json_object_get(json_array_get(slots, 1), "slot"), 1);
}

static void test_a_language_is_there_if_every_daemon_has_it(void **state)
{
    _cleanup_json_ json_t *statuses =
        json_pack("[o,o,o]", status_of(1, true), status_of(1, false), status_of(1, true));
    json_t *other = json_array_get(statuses, 2);
    (void)state;
    {
        _cleanup_json_ json_t *sum = sumstatus_make(statuses, 0);
        const json_t *c = json_array_get(json_object_get(sum, "languages"), 0);
        assert_true(json_is_false(json_object_get(c, "available")));
        assert_string_equal(json_string_value(json_object_get(c, "version")), "gcc");
    }
    json_array_remove(statuses, 1);
    json_array_clear(json_object_get(other, "languages"));
    {
        _cleanup_json_ json_t *sum = sumstatus_make(statuses, 0);
        const json_t *c = json_array_get(json_object_get(sum, "languages"), 0);
        assert_true(json_is_false(json_object_get(c, "available")));
        assert_string_equal(json_string_value(json_object_get(c, "why_not")),
                            "not every host of the fleet has it in its configuration");
    }
}

static void test_a_fleet_that_does_not_answer_has_a_broken_slot(void **state)
{
    _cleanup_json_ json_t *sum = sumstatus_make(NULL, 0);
    const json_t *slot = json_array_get(json_object_get(sum, "slots"), 0);
    (void)state;
    assert_string_equal(json_string_value(json_object_get(slot, "state")), "broken");
    assert_string_equal(json_string_value(json_object_get(slot, "trouble")),
                        "no daemon of the fleet has answered");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_sums),
        cmocka_unit_test(test_of_times_the_greatest_counts),
        cmocka_unit_test(test_slots_have_numbers_of_their_own),
        cmocka_unit_test(test_a_language_is_there_if_every_daemon_has_it),
        cmocka_unit_test(test_a_fleet_that_does_not_answer_has_a_broken_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
