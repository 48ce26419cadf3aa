/* SPDX-License-Identifier: MIT */
#include "client/fleet/serveanswer.h"
#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct bytes of(const char *text)
{
    return (struct bytes){.data = (char *)(uintptr_t)text, .length = strlen(text)};
}

static void expect_id(uint64_t number, const char *id, const char *expected)
{
    char fleet_id[SERVEANSWER_ID_SIZE];
    const struct bytes bytes = of(id);
    assert_int_equal(serveanswer_fleet_id(number, &bytes, fleet_id), strlen(expected));
    assert_string_equal(fleet_id, expected);
    assert_int_equal(serveanswer_number(fleet_id), number);
}

static void test_ids_of_the_fleet(void **state)
{
    char longest[129], expected[129];
    (void)state;
    expect_id(17, "capital/17", "17-capital/17");
    expect_id(1, "-1", "1--1");
    memset(longest, 'x', 128);
    longest[128] = '\0';
    (void)snprintf(expected, sizeof(expected), "18446744073709551615-%.107s", longest);
    expect_id(UINT64_MAX, longest, expected);
    /* It is cut at a whole character: 126 bytes have room, and the 126th begins one of two. */
    memcpy(longest + 125, "\xc3\xa9y", 4);
    (void)snprintf(expected, sizeof(expected), "1-%.125s", longest);
    expect_id(1, longest, expected);
}

static void expect(const char *text, uint64_t number, const char *id, const char *expected)
{
    const struct bytes answer = of(text), name = of(id);
    _cleanup_bytes_ struct bytes made = BYTES_NULL;
    assert_int_equal(serveanswer_restore(&answer, number, &name, &made), 0);
    assert_string_equal(made.data, expected);
    assert_int_equal(made.length, strlen(expected));
}

static void test_answers_get_the_ids_of_the_client(void **state)
{
    (void)state;
    /* As a daemon writes it: the rest stays byte for byte, JSON or not. */
    expect("{\"type\":\"result\",\"id\":\"7-a/\\\"b\",\"job_no\":4711,\"kind\":...}", 7, "a/\"b",
           "{\"type\":\"result\",\"id\":\"a/\\\"b\",\"job_no\":7,\"kind\":...}");
    /* As another one may. */
    expect("{\"job_no\":4711, \"id\":\"7-a\",\"type\":\"result\",\"score\":1.5}", 7, "a",
           "{\"job_no\":7,\"id\":\"a\",\"type\":\"result\",\"score\":1.5}");
    expect("{\"type\":\"error\",\"id\":\"7-a\",\"code\":\"internal\"}", 7, "a",
           "{\"type\":\"error\",\"id\":\"a\",\"code\":\"internal\",\"job_no\":7}");
}

static void test_what_is_no_answer(void **state)
{
    static const char *const texts[] = {"", "{", "[]", "{\"type\":\"hello\"}", "{}"};
    const struct bytes id = of("a");
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct bytes text = of(texts[i]);
        struct bytes made = BYTES_NULL;
        assert_int_equal(serveanswer_restore(&text, 7, &id, &made), -EBADMSG);
        assert_null(made.data);
    }
}

static void expect_failure(const char *text, const char *expected)
{
    const struct bytes answer = of(text);
    _cleanup_json_ json_t *owner = NULL;
    const char *found = serveanswer_failure(&answer, &owner);
    if (expected)
        assert_string_equal(found, expected);
    else
        assert_null(found);
}

static void test_failures(void **state)
{
    (void)state;
    expect_failure("{\"type\":\"error\",\"code\":\"starved\"}", "starved");
    expect_failure("{\"type\":\"result\",\"score\":{\"passed\":false,\"failure_modes\":[{\"code\":"
                   "\"rubric.timeout\"}]}}",
                   "rubric.timeout");
    expect_failure("{\"type\":\"result\",\"score\":{\"passed\":false,\"failure_modes\":[]}}",
                   "failed");
    expect_failure("{\"type\":\"result\",\"score\":{\"passed\":true}}", NULL);
    /* The word alone does not make one. */
    expect_failure("{\"type\":\"result\",\"score\":{\"passed\":true},\"tests\":[{\"passed\":false"
                   "}],\"x\":\"error\"}",
                   NULL);
    expect_failure("{\"type\":\"result\",\"score\":null,\"x\":\"error\"}", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_of_the_fleet),
        cmocka_unit_test(test_answers_get_the_ids_of_the_client),
        cmocka_unit_test(test_what_is_no_answer),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
