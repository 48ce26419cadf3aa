/* SPDX-License-Identifier: MIT */
#include "proto/lenient.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool is_used(const char *name, size_t n)
{
    static const char *const used[] = {"used", "id"};
    return json_name_is_among(name, n, used, ARRAY_SIZE(used));
}

/* Reads TEXT at the end of an allocation, so that a sanitizer detects reads past it. */
static int read_text(const char *text, json_t **ret, struct fault *fault)
{
    size_t n = strlen(text);
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    int r = json_read_lenient(copy, n, is_used, ret, fault);
    free(copy);
    return r;
}

static void assert_read(const char *text, const char *expected)
{
    struct fault fault = FAULT_NULL;
    json_t *value = NULL;
    if (read_text(text, &value, &fault) != 0)
        fail_msg("%s: %s", text, fault.text);
    char *printed = json_dumps(value, JSON_COMPACT);
    assert_string_equal(printed, expected);
    free(printed);
    json_decref(value);
}

static void assert_refused(const char *text, const char *why)
{
    struct fault fault = FAULT_NULL;
    json_t *value = NULL;
    assert_true(read_text(text, &value, &fault) < 0);
    assert_null(value);
    if (strncmp(fault.text, why, strlen(why)) != 0)
        fail_msg("%s: %s, expected %s", text, fault.text, why);
}

static void test_strict_text_is_as_ever(void **state)
{
    (void)state;
    assert_read("{}", "{}");
    assert_read("{\"a\":[1,-2,9223372036854775807,-9223372036854775808,\"NaN\",{\"used\":1.5}]}",
                "{\"a\":[1,-2,9223372036854775807,-9223372036854775808,\"NaN\",{\"used\":1.5}]}");
}

static void test_odd_numbers(void **state)
{
    (void)state;
    assert_read("{\"a\": NaN}", "{\"a\":\"NaN\"}");
    assert_read(" {\"a\":Infinity,\n\"b\" : [-Infinity , {\"used\":NaN}]} ",
                "{\"a\":\"Infinity\",\"b\":[\"-Infinity\",{\"used\":\"NaN\"}]}");
    assert_read("{\"a\":9223372036854775808,\"used\":7,\"b\":-9223372036854775809}",
                "{\"a\":\"9223372036854775808\",\"used\":7,\"b\":\"-9223372036854775809\"}");
    assert_read("{\"a\":[1e999,-1.5E+4000,1e-999]}", "{\"a\":[\"1e999\",\"-1.5E+4000\",0.0]}");
    /* What only looks like it, in strings and names, stays. */
    assert_read("{\"NaN\":\"NaN, 99999999999999999999\",\"x\\\"\":\"\\\"NaN\",\"a\":NaN}",
                "{\"NaN\":\"NaN, 99999999999999999999\",\"x\\\"\":\"\\\"NaN\",\"a\":\"NaN\"}");
}

static void test_used_members_are_strict(void **state)
{
    (void)state;
    assert_refused("{\"a\":NaN,\"used\":NaN}", "used: NaN is not a number in JSON");
    assert_refused("{\"id\":12345678901234567890}",
                   "id: 12345678901234567890 is an integer beyond 64 bits");
    assert_refused("{\"used\":{\"a\":[0,-1e400]}}", "used: -1e400 is a number that overflows");
    assert_refused(
        "{\"used\":1111111111222222222233333333334444444444555}",
        "used: 1111111111222222222233333333334444444444... is an integer beyond 64 bits");
    /* A name may be spelt with escapes. */
    assert_refused("{\"\\u0075sed\":NaN}", "\\u0075sed: NaN is not a number in JSON");
}

static void test_what_is_wrong_otherwise(void **state)
{
    (void)state;
    assert_refused("{\"a\":NaN,\"b\":nan}", "JSON: line 1 ");
    assert_refused("{\"a\":NaN,\"a\":1}", "JSON: line 1 column");
    assert_refused("{\"a\":NaN", "JSON: line 1 ");
    assert_refused("{\"a\":0099999999999999999999}", "JSON: line 1 ");
    assert_refused("{\"a\":09999999999999999999999}", "JSON: line 1 ");
    assert_refused("{\"a\":NaN}}", "JSON: line 1 ");
    assert_refused("{\"a\":\"", "JSON: line 1 ");
    assert_refused("{\"a\":\"\\", "JSON: line 1 ");
    assert_refused("{\"a", "JSON: line 1 ");
    assert_refused("", "JSON: line 1 ");
    assert_refused("[NaN]", "JSON: line 1 ");
    assert_refused("[1]", "expected an object, got an array");
}

static void assert_member(const char *text, const char *name, const char *expected)
{
    const char *found;
    size_t n;
    bool is_there = json_member_text(text, strlen(text), name, &found, &n);
    assert_int_equal(is_there, expected != NULL);
    if (expected && (n != strlen(expected) || memcmp(found, expected, n) != 0))
        fail_msg("%.*s, expected %s", (int)n, found, expected);
}

static void test_member_text(void **state)
{
    static const char text[] =
        " {\"a\":1 , \"b\" : [[1,{\"c\":\"]}\"}],NaN],\"c\":\"x,\\\"\", \"d\":-1e5}";
    (void)state;
    assert_member(text, "a", "1 ");
    assert_member(text, "b", "[[1,{\"c\":\"]}\"}],NaN]");
    assert_member(text, "c", "\"x,\\\"\"");
    assert_member(text, "d", "-1e5");
    assert_member(text, "e", NULL);
    assert_member("{}", "a", NULL);
    assert_member("", "a", NULL);
    assert_member("{\"a\":1}", "", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strict_text_is_as_ever),
        cmocka_unit_test(test_odd_numbers),
        cmocka_unit_test(test_used_members_are_strict),
        cmocka_unit_test(test_what_is_wrong_otherwise),
        cmocka_unit_test(test_member_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
