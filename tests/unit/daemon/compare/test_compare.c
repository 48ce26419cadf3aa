/* SPDX-License-Identifier: MIT */
#include "daemon/compare/compare.h"

#include "proto/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A literal that may contain NUL, as bytes that nobody frees. */
#define BYTES(literal)                                                      \
    {                                                                       \
        .data = (char *)(uintptr_t)(literal), .length = sizeof(literal) - 1 \
    }

/* --- reading rules ----------------------------------------------------------------------------*/

static void test_rules_are_read(void **state)
{
    (void)state;
    struct compare compare;
    struct fault fault = FAULT_NULL;
    assert_int_equal(compare_parse("exact", &compare, &fault), 0);
    assert_int_equal(compare.rule, COMPARE_EXACT);
    assert_int_equal(compare_parse("livecodebench", &compare, &fault), 0);
    assert_int_equal(compare.rule, COMPARE_LIVECODEBENCH);
    assert_int_equal(compare_parse("float:1e-6,.5", &compare, &fault), 0);
    assert_int_equal(compare.rule, COMPARE_FLOAT);
    assert_true(compare.absolute == 1e-6 && compare.relative == 0.5);
}

static void test_bad_rules(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *says;
    } cases[] = {
        {"", "unknown rule \"\"; there are exact, lines, tokens, float:ABS,REL, livecodebench, "
             "apps and codecontests"},
        {"Exact", "unknown rule \"Exact\"; there are"},
        {"float", "unknown rule \"float\"; there are"},
        {"a\033[2J", "unknown rule \"a\\x1b[2J\"; there are"},
        {"float:", "\"float:\" has no two tolerances: float:ABS,REL takes two numbers that are not "
                   "negative, as in float:1e-6,1e-9"},
        {"float:1e-6", "\"float:1e-6\" has no two tolerances"},
        {"float:1e-6,", "\"float:1e-6,\" has no two tolerances"},
        {"float:-1,0", "\"float:-1,0\" has no two tolerances"},
        {"float:nan,0", "\"float:nan,0\" has no two tolerances"},
        {"float:inf,0", "\"float:inf,0\" has no two tolerances"},
        {"float:1e999,0", "\"float:1e999,0\" has no two tolerances"},
        {"float:1,2,3", "\"float:1,2,3\" has no two tolerances"},
        {"float:0x1,0", "\"float:0x1,0\" has no two tolerances"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct compare compare = {.rule = COMPARE_TOKENS};
        struct fault fault = FAULT_NULL;
        assert_int_equal(compare_parse(cases[i].rule, &compare, &fault), -EINVAL);
        if (strncmp(fault.text, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("%s: %s", cases[i].rule, fault.text);
        assert_int_equal(compare.rule, COMPARE_TOKENS);
    }
}

/* --- the rules --------------------------------------------------------------------------------*/

struct rule_case {
    struct bytes got, expected;
    bool equal;
};

#define EQUAL(got, expected)              \
    {                                     \
        BYTES(got), BYTES(expected), true \
    }
#define DIFFERENT(got, expected)           \
    {                                      \
        BYTES(got), BYTES(expected), false \
    }

static bool outputs_equal(const char *rule, const struct bytes *got, const struct bytes *expected)
{
    _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
    struct compare compare;
    assert_int_equal(compare_parse(rule, &compare, NULL), 0);
    assert_int_equal(compare_outputs(&compare, got, expected, &difference), 0);
    assert_int_equal(difference.differs, difference.why != NULL);
    return !difference.differs;
}

static void check(const char *rule, const struct rule_case *cases, size_t n)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < n; i++) {
        if (outputs_equal(rule, &cases[i].got, &cases[i].expected) != cases[i].equal) {
            print_error("%s: case %zu: \"%s\" and \"%s\"\n", rule, i, cases[i].got.data,
                        cases[i].expected.data);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void test_exact(void **state)
{
    (void)state;
    static const struct rule_case cases[] = {
        EQUAL("", ""),
        EQUAL("a\0b", "a\0b"),
        EQUAL("\xFF", "\xFF"),
        DIFFERENT("a\0b", "a\0c"),
        DIFFERENT("a", "a\n"),
        DIFFERENT("a ", "a"),
        DIFFERENT("\xFF", "\xFE"),
        DIFFERENT("\xFF", "\xEF\xBF\xBD"),
    };
    check("exact", cases, ARRAY_SIZE(cases));
}

static void test_lines(void **state)
{
    (void)state;
    static const struct rule_case cases[] = {
        EQUAL("a\nb\n", "a\nb"),     EQUAL("a \t\r\nb\r\n\n \n", "a\nb"),
        EQUAL("", " \n\n\t\n"),      EQUAL("a\n\nb", "a\n \nb\n"),
        DIFFERENT(" a", "a"),        DIFFERENT("a\n\nb", "a\nb"),
        DIFFERENT("\na", "a"),       DIFFERENT("a  b", "a b"),
        DIFFERENT("a\f", "a"),       DIFFERENT("a\0", "a"),
        DIFFERENT("a\nb", "a"),      DIFFERENT("a", "a\nb"),
        DIFFERENT("a\xC2\xA0", "a"),
    };
    check("lines", cases, ARRAY_SIZE(cases));
}

static void test_tokens(void **state)
{
    (void)state;
    static const struct rule_case cases[] = {
        EQUAL("1 2\n3", " 1\t2\v3\f\r\n"),
        EQUAL("", " \n"),
        DIFFERENT("1 2", "12"),
        DIFFERENT("1 2", "1 2 3"),
        DIFFERENT("1 2 3", "1 2"),
        DIFFERENT("1.0", "1"),
        DIFFERENT("a", "A"),
        DIFFERENT("a\xC2\xA0z", "a z"),
        DIFFERENT("a\0b", "a b"),
    };
    check("tokens", cases, ARRAY_SIZE(cases));
}

static void test_float(void **state)
{
    (void)state;
    static const struct rule_case cases[] = {
        EQUAL("1.0000009 x", "1 x"),
        EQUAL("1000001", "1000000"), /* 1e-6 of it */
        EQUAL("0.300001", "0.3"),    /* just the tolerance */
        EQUAL("nan", "NaN"),
        EQUAL("inf -inf", "Infinity -INF"),
        EQUAL("1e3", "1000.0"),
        EQUAL("1e-999999999999", "0"),
        DIFFERENT("1.0000021", "1"),
        DIFFERENT("1000003", "1000000"),
        DIFFERENT("inf", "-inf"),
        DIFFERENT("inf", "1"),
        DIFFERENT("1e308", "inf"),
        DIFFERENT("nan", "1"),
        DIFFERENT("1", "nan"),
        DIFFERENT("x", "y"),
        DIFFERENT("1x", "1"),
        DIFFERENT("0x10", "16"),
        DIFFERENT("1_000", "1000"),
        DIFFERENT("\xD9\xA1", "1"),
        DIFFERENT("1 2", "1"),
        /* Numbers beyond doubles. */
        EQUAL("10e308", "1e309"),
        DIFFERENT("inf", "1e309"),
        DIFFERENT("1e999", "inf"),
        DIFFERENT("2e309", "1e309"),
        DIFFERENT("-1e999", "-inf"),
        DIFFERENT("1.7e308", "-1.7e308"),
    };
    check("float:1e-6,1e-6", cases, ARRAY_SIZE(cases));
    static const struct rule_case strict[] = {
        EQUAL("1.0", "1"),
        EQUAL("0e9", "-0.0"),
        DIFFERENT("1.00001", "1"),
        DIFFERENT("0", "1e-15"),
        DIFFERENT("123456789012345678901", "123456789012345678902"),
    };
    check("float:0,0", strict, ARRAY_SIZE(strict));
    static const struct rule_case relative[] = {
        EQUAL("6.62607e-34", "6.62607015e-34"),
        DIFFERENT("0", "6.62607015e-34"),
        DIFFERENT("-5e-16", "1.602176634e-19"),
        DIFFERENT("1e-330", "3e-330"),
    };
    check("float:0,1e-6", relative, ARRAY_SIZE(relative));
}

static void test_livecodebench(void **state)
{
    (void)state;
    static const struct rule_case cases[] = {
        EQUAL("\n 1 2 \n3\n\n", "1 2\n3"),
        EQUAL("1.0 2\t3e0", "1 2 3"),
        EQUAL("a\r\nb", "a\nb"),
        EQUAL("\xC2\xA0"
              "a\xE3\x80\x80\n",
              "a"),
        EQUAL("1_0 \xD9\xA2", "10 2"),
        EQUAL("nan", "nan"),
        EQUAL("Infinity", "inf"),
        EQUAL("10e999999999998", "1e999999999999"),
        EQUAL("-0", "0"),
        EQUAL("", " \n "),
        DIFFERENT("1\n2", "1 2"),
        DIFFERENT("1\n\n2", "1\n2"),
        DIFFERENT("1  2 x", "1 2 x"), /* x is no number, so the text decides */
        DIFFERENT("1 2", "1 2 3"),
        DIFFERENT("50000000000000000", "50000000000000001"),
        DIFFERENT("0.1", "0.10000000000000001"),
        DIFFERENT("nan 1", "nan 1.0"),
        DIFFERENT("snan", "1"),
        DIFFERENT("YES", "yes"),
        DIFFERENT("0x10", "16"),
        DIFFERENT("1e1000000000000000000", "10e999999999999999999"),
        DIFFERENT("1\0", "1"),
        DIFFERENT("1\xFF", "1"),
    };
    check("livecodebench", cases, ARRAY_SIZE(cases));
}

static void test_apps(void **state)
{
    (void)state;
    static const struct rule_case cases[] = {
        EQUAL("a\nb\n", "a\nb"),         /* step 1 */
        EQUAL("\n a\nb \n", "a\nb"),     /* step 1: the blanks around the whole */
        EQUAL("a  \n b\n", "a\nb"),      /* step 2 */
        EQUAL("a\r\nb\r\n", "a\nb"),     /* as splitlines() has it */
        EQUAL("a\nb", " a\n\n b"),       /* step 3 */
        EQUAL("a\n\nb", "a\n\n\nb "),    /* step 4 */
        EQUAL("1.0\n\n2.00001", "1\n2"), /* step 5 */
        EQUAL("1_000\n\xD9\xA1", "1000.0\n1"),
        EQUAL("1e999\n", "inf"),
        EQUAL("-inf\n1000001", "-1e999\n1000000"), /* step 5, since 7 rounds to thousandths */
        DIFFERENT("inf\n1000001", "-inf\n1000000"),
        DIFFERENT("nan\n1000001", "nan\n1000000"),
        DIFFERENT("1000011", "1000000"),
        EQUAL("b a\nc", "c\na b"), /* step 6 */
        EQUAL("a a\nb\nb", "b\na"),
        EQUAL("a\f"
              "b",
              "b\na"), /* a form feed breaks lines of the output */
        EQUAL("0.1234 x", "x 0.1234"),
        EQUAL("0.12349 2", "2.0 0.1231"), /* step 7 */
        EQUAL("-0.0001 1", "1 0"),
        EQUAL("", ""),
        EQUAL("", "\n"),
        DIFFERENT("a\nb", "a b"),
        DIFFERENT("a", "a\nb"),
        DIFFERENT("1.0001", "1\n2"),
        DIFFERENT("1.002 5", "5 1"),
        DIFFERENT("1.0 x", "x 1"), /* not all are numbers */
        DIFFERENT("nan 1", "1.0 nan"),
        DIFFERENT("1_ 0", "0 1"),
        DIFFERENT("YES", "yes"),
        DIFFERENT("x y", "x y\n \nx"), /* a line of blanks is an empty set */
        DIFFERENT("a\fb", "a\fb"),     /* the origin's own oddity */
        DIFFERENT("0x1", "1"),
    };
    check("apps", cases, ARRAY_SIZE(cases));
}

static void test_codecontests(void **state)
{
    (void)state;
    static const struct rule_case cases[] = {
        EQUAL("YES 1\n", "yes\t1"),
        EQUAL("1.000009", "1"),
        EQUAL("1e5", "100000.000001"),
        EQUAL("+1", "1"),
        EQUAL("nan inf", "NAN INF"),                           /* all words are the same */
        EQUAL("12345678901234567890", "12345678901234567891"), /* the same double */
        EQUAL("1\f", "1.0"),
        EQUAL("", "\n"),
        DIFFERENT("1.00002", "1"),
        DIFFERENT("1000000.1", "1000000"), /* no relative tolerance */
        DIFFERENT("nan 1.0", "nan 1"),
        DIFFERENT("inf 1.0", "inf 1"),
        DIFFERENT("1 2", "1 2 3"),
        DIFFERENT("1 2 3", "1 2"),
        DIFFERENT("x", "y"),
        DIFFERENT("1x", "1"),
        DIFFERENT("0x10", "16"),
        DIFFERENT("1_0", "10"),
        DIFFERENT("2", "3"),
        DIFFERENT("a\fb", "a b"), /* a form feed is no blank */
        DIFFERENT("\xC3\x84", "\xC3\xA4"),
    };
    check("codecontests", cases, ARRAY_SIZE(cases));
}

/* --- differences ------------------------------------------------------------------------------*/

static void check_told(const char *rule, const char *got, const char *expected, uint64_t line,
                       const char *shown_got, const char *shown_expected, const char *why)
{
    _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
    const struct bytes left = {.data = (char *)(uintptr_t)got, .length = strlen(got)},
                       right = {.data = (char *)(uintptr_t)expected, .length = strlen(expected)};
    struct compare compare;
    assert_int_equal(compare_parse(rule, &compare, NULL), 0);
    assert_int_equal(compare_outputs(&compare, &left, &right, &difference), 0);
    assert_true(difference.differs);
    assert_string_equal(difference.why, why);
    assert_int_equal(difference.line, line);
    assert_string_equal(difference.got.data, shown_got);
    assert_string_equal(difference.expected.data, shown_expected);
}

static void test_first_difference(void **state)
{
    (void)state;
    check_told("lines", "a\nb \nc", "a\nb\nd", 3, "c", "d", "the line is not as expected");
    check_told("lines", "a\n", "a\nb\n", 1, "", "b", "the output ends too early");
    check_told("lines", "a\nb\n", "a\n", 2, "b", "", "the output goes on where it should end");
    check_told("exact", "a\nb\n", "a\nb", 3, "", "",
               "the output ends in a newline that is not expected");
    check_told("exact", "a\nb", "a\nb\n", 2, "", "", "the output lacks the newline at its end");
    check_told("exact", "a\n\n", "a", 2, "", "", "the output goes on where it should end");
    check_told("exact", "a", "a\nb", 1, "", "b", "the output ends too early");
    check_told("lines", "1 3  6", "1 3 6", 1, "1 3  6", "1 3 6",
               "the line is as expected but for blanks, which the rule tokens ignores");
    check_told("exact", "1  2\n", "1 2\n", 1, "1  2", "1 2",
               "the line is as expected but for blanks, which the rule tokens ignores");
    check_told("exact", " 1\n", "1\n", 1, " 1", "1",
               "the line is as expected but for blanks, which the rule tokens ignores");
    /* The strictest rule that would do is the default. */
    check_told("exact", "1 \n", "1\n", 1, "1 ", "1",
               "the line is as expected but for blanks at its end, which the rule lines ignores");
    check_told("exact", "1\r\n", "1\t \n", 1, "1\r", "1\t ",
               "the line is as expected but for blanks at its end, which the rule lines ignores");
    check_told("tokens", "1 2\n3 4", "1\n2 3 5", 2, "4", "5", "the word is not as expected");
    check_told("float:0,0", "1\n2.5", "1 2", 2, "2.5", "2",
               "the word is not as expected, nor a number close enough to it");
    check_told("livecodebench", "\n\n1\n2 x\n", "1\n2 y", 4, "2 x", "2 y",
               "the line is not as expected, nor are all of its words the same numbers");
    check_told("apps", "a\n\nb", "a\nc", 3, "b", "c",
               "the output is not as expected, neither as lines, numbers nor sets");
    check_told("apps", " a \nb", "a\n c", 2, "b", "c",
               "the output is not as expected, neither as lines, numbers nor sets");
    check_told("codecontests", "Yes\n1.1", "yes 1", 2, "1.1", "1",
               "the word is not as expected, nor a number less than 1e-5 from it");
    check_told("codecontests", "nan 1.0", "nan 1", 1, "nan", "nan",
               "the word is nan or infinite, and not all words are the same");
    check_told("lines", "\xFF\x1b[2J", "x", 1, "\xEF\xBF\xBD\x1b[2J", "x",
               "the line is not as expected");
}

/* Fills a line with N times FILL and puts BEHIND at its end. The caller frees it. */
static struct bytes long_line(const char *fill, size_t n, const char *behind)
{
    size_t width = strlen(fill);
    struct bytes line = {.data = malloc(n * width + strlen(behind) + 1)};
    assert_non_null(line.data);
    for (size_t i = 0; i < n; i++)
        memcpy(line.data + i * width, fill, width);
    memcpy(line.data + n * width, behind, strlen(behind) + 1);
    line.length = n * width + strlen(behind);
    return line;
}

/* An excerpt shows the place that differs, cut at whole characters, within its bound. */
static void test_excerpt_of_long_line(void **state)
{
    (void)state;
    _cleanup_bytes_ struct bytes got = long_line("\xC3\xA4", 5000000, "left and on and on"),
                                 expected = long_line("\xC3\xA4", 5000000, "right");
    _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
    const struct compare compare = {.rule = COMPARE_LINES};
    assert_int_equal(compare_outputs(&compare, &got, &expected, &difference), 0);
    assert_true(difference.differs && difference.line == 1);
    assert_memory_equal(difference.got.data, "...\xC3\xA4", 5);
    assert_non_null(strstr(difference.got.data, "\xC3\xA4left and on and on"));
    assert_non_null(strstr(difference.expected.data, "\xC3\xA4right"));

    difference_deinit(&difference);
    assert_int_equal(
        compare_outputs(&compare, &got, &(struct bytes)BYTES("\xC3\xA4z"), &difference), 0);
    assert_true(difference.got.length <= COMPARE_EXCERPT_MAX);
    assert_string_equal(difference.got.data + difference.got.length - 5, "\xC3\xA4...");
    assert_string_equal(difference.expected.data, "\xC3\xA4z");
}

/* Each byte that is no UTF-8 becomes three: the bound holds all the same. */
static void test_excerpt_of_no_utf8(void **state)
{
    (void)state;
    _cleanup_bytes_ struct bytes got = long_line("\xFF", 1000, ""),
                                 expected = long_line("\x80", 1000, "");
    _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
    const struct compare compare = {.rule = COMPARE_EXACT};
    assert_int_equal(compare_outputs(&compare, &got, &expected, &difference), 0);
    assert_true(difference.differs);
    assert_in_range(difference.got.length, 200, COMPARE_EXCERPT_MAX);
    assert_in_range(difference.expected.length, 200, COMPARE_EXCERPT_MAX);
    assert_memory_equal(difference.got.data, "\xEF\xBF\xBD", 3);
}

/* --- large and hostile outputs ----------------------------------------------------------------*/

static const char *const all_rules[] = {"exact", "lines",         "tokens",      "float:1e-6,1e-6",
                                        "apps",  "livecodebench", "codecontests"};

/* Outputs of N bytes that are full of FILL, and that differ at their ends. */
static void check_full_of(const char *fill, size_t n, const char *const *rules, size_t count)
{
    _cleanup_bytes_ struct bytes got = long_line(fill, n / strlen(fill), "x"),
                                 expected = long_line(fill, n / strlen(fill), "y");
    for (size_t k = 0; k < count; k++) {
        assert_false(outputs_equal(rules[k], &got, &expected));
        assert_false(outputs_equal(rules[k], &got, &(struct bytes)BYTES("z")));
        assert_false(outputs_equal(rules[k], &(struct bytes)BYTES("z"), &got));
    }
}

/* As large as an output may be. With sanitizers that would take a minute of CPU time. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LARGEST ((size_t)8 << 20)
#endif
#endif
#ifndef LARGEST
#define LARGEST ((size_t)64 << 20)
#endif

/* A rule that took the square of this would not end within the suite's time. */
static void test_large_outputs(void **state)
{
    (void)state;
    static const char *const fills[] = {"1 ", "1", "1\n", "\n", " ", "\x80", "9e9 ", "_", "\r\n"};
    for (size_t i = 0; i < ARRAY_SIZE(fills); i++)
        check_full_of(fills[i], (size_t)1 << 20, all_rules, ARRAY_SIZE(all_rules));
    /* Those that take memory, or look at each word. */
    static const char *const some[] = {"apps", "livecodebench"};
    check_full_of("1.5 \n", LARGEST, some, ARRAY_SIZE(some));
}

/* One number of many digits, spelled in two ways. */
static void test_number_of_ten_million_digits(void **state)
{
    (void)state;
    _cleanup_bytes_ struct bytes got = long_line("7", 10000000, ".0"),
                                 expected = long_line("7", 10000000, "");
    assert_true(outputs_equal("livecodebench", &got, &expected));
    expected.data[expected.length - 1] = '8';
    assert_false(outputs_equal("livecodebench", &got, &expected));
    assert_false(outputs_equal("float:1,1", &got, &(struct bytes)BYTES("1")));
    assert_true(outputs_equal("apps", &got, &(struct bytes)BYTES("inf")));
}

/* Lines in another order, one more word than is compared as sets. */
static void test_sets_are_bounded(void **state)
{
    (void)state;
    enum { HALF = 1 << 17 }; /* words, and as many lines */
    _cleanup_bytes_ struct bytes got = long_line("1\n", HALF - 1, "2"),
                                 expected = long_line("1\n", HALF - 1, "2");
    expected.data[0] = '2';
    expected.data[expected.length - 1] = '1';
    assert_true(outputs_equal("apps", &got, &expected));

    _cleanup_bytes_ struct bytes more = long_line("1\n", HALF, "2");
    _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
    const struct compare compare = {.rule = COMPARE_APPS};
    assert_int_equal(compare_outputs(&compare, &more, &expected, &difference), 0);
    assert_true(difference.differs);
    assert_string_equal(difference.why,
                        "the output is not as expected, and too large to compare as sets");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_are_read),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_float),
        cmocka_unit_test(test_livecodebench),
        cmocka_unit_test(test_apps),
        cmocka_unit_test(test_codecontests),
        cmocka_unit_test(test_first_difference),
        cmocka_unit_test(test_excerpt_of_long_line),
        cmocka_unit_test(test_excerpt_of_no_utf8),
        cmocka_unit_test(test_large_outputs),
        cmocka_unit_test(test_number_of_ten_million_digits),
        cmocka_unit_test(test_sets_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
