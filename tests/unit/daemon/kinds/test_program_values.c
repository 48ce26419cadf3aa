/* SPDX-License-Identifier: MIT */
/* Tests when what a function gave back is the value that was expected. */
#include "daemon/kinds/program.h"
#include "tests/unit/quoted.h"

/* Compares, without a NUL behind the output as a slot gives it. */
static void compare(const char *got, const char *expected, struct difference *ret)
{
    _cleanup_free_ char *left = to_json(got), *right = to_json(expected);
    size_t n = strlen(left);
    _cleanup_free_ char *exact = malloc(n > 0 ? n : 1);
    assert_non_null(exact);
    memcpy(exact, left, n);
    const struct bytes output = {.data = n > 0 ? exact : NULL, .length = n};
    const struct bytes value = {.data = right, .length = strlen(right)};
    assert_int_equal(program_compare_values(&output, &value, ret), 0);
}

static void test_same(void **state)
{
    static const struct {
        const char *got, *expected;
    } cases[] = {
        {"{'value': 1}", "1"},
        {"{'value': 1.0}", "1"},
        {"{'value': true}", "1"},
        {"{'value': 0}", "false"},
        {"{'value': -0.0}", "0"},
        {"{'value': 9007199254740993}", "9007199254740993"},
        {"{'value': 9007199254740992.0}", "9007199254740992"},
        {"{'value': null}", "null"},
        {"{'value': '\\u00e9'}", "'\xC3\xA9'"},
        {"{'value': [1, [2.5, {}], 'x']}", "[1.0,[2.5,{}],'x']"},
        {"{'value': {'a': 1, 'b': [true]}}", "{'b':[1],'a':1}"},
        {" {'value':1}\n", "1"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct difference difference;
        compare(cases[i].got, cases[i].expected, &difference);
        if (difference.differs)
            fail_msg("%s is not %s: %s", cases[i].got, cases[i].expected, difference.why);
    }
}

static void test_different(void **state)
{
    static const struct {
        const char *got, *expected, *why, *shown;
    } cases[] = {
        {"{'value': 1}", "2", "the values differ", "1"},
        {"{'value': '1'}", "1", "the values differ", "'1'"},
        {"{'value': null}", "0", "the values differ", "null"},
        {"{'value': 9007199254740993}", "9007199254740992.0", "the values differ",
         "9007199254740993"},
        {"{'value': 1e300}", "1", "the values differ", "1e300"},
        {"{'value': [1, 2]}", "[1]", "the values differ", "[1, 2]"},
        {"{'value': [1]}", "{'0':1}", "the values differ", "[1]"},
        {"{'value': {'a': 1}}", "{'b':1}", "the values differ", "{'a': 1}"},
        {"{'value': {'a': 1}}", "{'a':1,'b':1}", "the values differ", "{'a': 1}"},
        {"{'value': 'a\\u0000b'}", "'a'", "the values differ", "'a\\u0000b'"},
        {"", "1", "the function gave back nothing", ""},
        {"{'value': NaN}", "1", "the value is none that JSON has", "NaN"},
        {"{'value': 1}{'value': 1}", "1", "the value is none that JSON has", "1}{'value': 1"},
        {"{'valu': 1}", "1", "the value is none that JSON has", "{'valu': 1}"},
        {"1", "1", "the value is none that JSON has", "1"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *shown = to_json(cases[i].shown);
        _cleanup_free_ char *expected = to_json(cases[i].expected);
        _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
        compare(cases[i].got, cases[i].expected, &difference);
        assert_true(difference.differs);
        assert_string_equal(difference.why, cases[i].why);
        assert_string_equal(difference.got.data, shown);
        assert_string_equal(difference.expected.data, expected);
        assert_int_equal(difference.line, 0);
    }
}

/* Excerpts are cut at a whole character. */
static void test_excerpts(void **state)
{
    char got[1024] = "{'value': '", expected[1024] = "'";
    (void)state;
    for (int i = 0; i < 200; i++) {
        (void)strcat(got, "\xE2\x82\xAC");
        (void)strcat(expected, "x");
    }
    (void)strcat(got, "'}");
    (void)strcat(expected, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'");
    _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
    compare(got, expected, &difference);
    assert_true(difference.differs);
    assert_in_range(difference.got.length, COMPARE_EXCERPT_MAX - 3, COMPARE_EXCERPT_MAX);
    assert_int_equal(difference.expected.length, COMPARE_EXCERPT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_different),
        cmocka_unit_test(test_excerpts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
