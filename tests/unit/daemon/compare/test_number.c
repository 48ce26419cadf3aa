/* SPDX-License-Identifier: MIT */
#include "daemon/compare/number.h"

#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>

#include <cmocka.h>

static struct span span_of(const char *text)
{
    return (struct span){text, text + strlen(text)};
}

/* --- what is a number -------------------------------------------------------------------------*/

enum { PLAIN = 1 << NUMBER_PLAIN, FLOAT = 1 << NUMBER_FLOAT, DECIMAL = 1 << NUMBER_DECIMAL };
enum { ABSEIL = 1 << NUMBER_ABSEIL, PYTHON = FLOAT | DECIMAL, ALL = PLAIN | ABSEIL | PYTHON };

static const struct {
    const char *text;
    unsigned grammars; /* those for which it is one */
} numbers[] = {
    {"0", ALL},
    {"-0", ALL},
    {"+7", ALL},
    {"007", ALL},
    {"1.", ALL},
    {".5", ALL},
    {"1.5e3", ALL},
    {"1E+3", ALL},
    {"1e-3", ALL},
    {"inf", ALL},
    {"-INFINITY", ALL},
    {"nan", ALL},
    {"+NaN", ALL},
    {"", 0},
    {"+", 0},
    {".", 0},
    {"-.", 0},
    {"e5", 0},
    {"1e", 0},
    {"1e+", 0},
    {"1.5.2", 0},
    {"1,5", 0},
    {"--1", 0},
    {"+-1", 0},
    {"-+1", 0},
    {"0x10", 0},
    {"0x1p3", 0},
    {"1a", 0},
    {"1 2", 0},
    {"infinit", 0},
    {"inf1", 0},
    {"1inf", 0},
    {"nanx", 0},
    {"1_000", PYTHON},
    {"1__000", DECIMAL},
    {"_1", DECIMAL},
    {"1_", DECIMAL},
    {"1_.0", DECIMAL},
    {"1._0", DECIMAL},
    {"1e1_0", PYTHON},
    {"1e_10", DECIMAL},
    {"-_1", DECIMAL},
    {"n_an", DECIMAL},
    {"_", 0},
    {"nan12", DECIMAL},
    {"sNaN", DECIMAL},
    {"nan()", ABSEIL},
    {"nan(x_1)", ABSEIL},
    {"nan(", 0},
    {"nan(-)", 0},
    {"inf()", 0},
    {"\f1\f", ABSEIL},
    {" 1", 0},
    {"\xD9\xA1\xD9\xA2", PYTHON},                 /* Arabic-Indic 12 */
    {"1\xD9\xA2.\xEF\xBC\x95", PYTHON},           /* and a fullwidth 5 */
    {"1e\xF0\x9D\x9F\x98", PYTHON},               /* a mathematical 0 */
    {"\xE0\xA5\xA6_\xE0\xA5\xA7", PYTHON},        /* Devanagari 0_1 */
    {"\xC2\xB2", 0},                              /* a superscript 2 */
    {"\xE2\x85\xA0", 0},                          /* a Roman I */
    {"1\xFF", 0},                                 /* no UTF-8 */
    {"\xD9", 0},                                  /* half of a digit */
    {"1e999999999999999999", ALL},                /* as large as Decimal() goes */
    {"9.9e999999999999999999", ALL},              /* still */
    {"1e1000000000000000000", ALL & ~DECIMAL},    /* too large for it */
    {"10e999999999999999999", ALL & ~DECIMAL},    /* too */
    {"0.1e1000000000000000000", ALL},             /* the same as the first of these */
    {"0e1000000000000000000", ALL & ~DECIMAL},    /* it refuses even a 0 */
    {"1e-1999999999999999997", ALL},              /* as small as Decimal() goes */
    {"1e-1999999999999999998", ALL & ~DECIMAL},   /* too small for it */
    {"0.0e-1999999999999999997", ALL & ~DECIMAL}, /* too */
    {"1e99999999999999999999999999999999999999", ALL & ~DECIMAL},
    {"1e-99999999999999999999999999999999999999", ALL & ~DECIMAL},
};

static void test_numbers(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        unsigned grammars = 0;
        struct number number;
        for (unsigned g = NUMBER_PLAIN; g <= NUMBER_ABSEIL; g++)
            grammars |= number_parse(span_of(numbers[i].text), (enum number_grammar)g, &number)
                            ? 1u << g
                            : 0;
        if (grammars != numbers[i].grammars) {
            print_error("\"%s\": %#x, not %#x\n", numbers[i].text, grammars, numbers[i].grammars);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void test_nul_is_no_number(void **state)
{
    (void)state;
    static const char text[] = "1\0"
                               "2";
    struct number number;
    for (unsigned g = NUMBER_PLAIN; g <= NUMBER_ABSEIL; g++) {
        assert_false(number_parse((struct span){text, text + 3}, (enum number_grammar)g, &number));
        assert_false(number_parse((struct span){text, text + 2}, (enum number_grammar)g, &number));
        assert_true(number_parse((struct span){text, text + 1}, (enum number_grammar)g, &number));
    }
}

/* --- values -----------------------------------------------------------------------------------*/

static const struct {
    const char *a, *b;
    bool equal;
} pairs[] = {
    {"1", "1.000", true},
    {"1", "+01e0", true},
    {"0", "-0.0e5", true},
    {"0", "0.0001", false},
    {"100", "1e2", true},
    {"0.001", "1e-3", true},
    {"0.00100", "100e-5", true},
    {"1", "-1", false},
    {"1", "10", false},
    {"12", "1", false},
    {"1_0", "10", true},
    {"\xD9\xA1", "1", true},
    {"50000000000000000", "50000000000000001", false},
    {"0.1", "0.1000000000000000055511151231257827021181583404541015625", false},
    {"inf", "Infinity", true},
    {"inf", "-inf", false},
    {"inf", "1e999999999999", false},
    {"nan", "nan", false},
    {"snan", "snan", false},
    {"1e999999999999", "10e999999999998", true},
    {"1e999999999999", "1e999999999998", false},
    {"0.1e1000000000000000000", "1e999999999999999999", true},
};

static void test_equal_values(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        struct number a, b;
        assert_true(number_parse(span_of(pairs[i].a), NUMBER_DECIMAL, &a));
        assert_true(number_parse(span_of(pairs[i].b), NUMBER_DECIMAL, &b));
        if (number_equal(&a, &b) != pairs[i].equal || number_equal(&b, &a) != pairs[i].equal) {
            print_error("%s and %s\n", pairs[i].a, pairs[i].b);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static double double_of(const char *text)
{
    struct number number;
    assert_true(number_parse(span_of(text), NUMBER_FLOAT, &number));
    return number_double(&number);
}

static void test_doubles(void **state)
{
    (void)state;
    assert_true(double_of("0.1") == 0.1);
    assert_true(double_of("-12.5e-1") == -1.25);
    assert_true(double_of("1_000") == 1000);
    assert_true(double_of("\xD9\xA1\xD9\xA2.\xD9\xA5") == 12.5);
    assert_true(signbit(double_of("-0")) && double_of("-0") == 0);
    assert_true(double_of("1e309") == INFINITY && double_of("-1e999999999999") == -INFINITY);
    assert_true(double_of("1e-400") == 0 && double_of("1e-999999999999") == 0);
    assert_true(double_of("4.9406564584124654e-324") == 0x1p-1074);
    assert_true(double_of("-inf") == -INFINITY && isnan(double_of("nan")));
    assert_true(double_of("9007199254740993") == 9007199254740992.0);
}

/* Between two doubles lies a number of 767 digits; one more digit decides, however far behind. */
static void test_digits_far_behind_decide(void **state)
{
    (void)state;
    enum { ZEROS = 100000 };
    char *text = malloc(ZEROS + 64);
    assert_non_null(text);
    size_t n = (size_t)snprintf(text, ZEROS, "9007199254740993.");
    memset(text + n, '0', ZEROS);
    memcpy(text + n + ZEROS, "1", 2);
    assert_true(double_of(text) == 9007199254740994.0);
    text[n + ZEROS] = '0';
    assert_true(double_of(text) == 9007199254740992.0);
    free(text);
}

/* Ten million zeros that an exponent takes back. */
static void test_zeros_and_exponent_cancel(void **state)
{
    (void)state;
    enum { ZEROS = 10000000 };
    char *text = malloc(ZEROS + 64);
    assert_non_null(text);
    memcpy(text, "0.", 2);
    memset(text + 2, '0', ZEROS);
    memcpy(text + 2 + ZEROS, "125e10000003", 13);
    assert_true(double_of(text) == 125);
    struct number number, plain;
    assert_true(number_parse(span_of(text), NUMBER_DECIMAL, &number));
    assert_true(number_parse(span_of("125"), NUMBER_DECIMAL, &plain));
    assert_true(number_equal(&number, &plain));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nul_is_no_number),
        cmocka_unit_test(test_equal_values),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_digits_far_behind_decide),
        cmocka_unit_test(test_zeros_and_exponent_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
