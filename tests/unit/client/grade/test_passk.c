/* SPDX-License-Identifier: MIT */
#include "client/grade/passk.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define CLOSE 1e-12L

/* C(n, k), exact: the largest here is C(40, 20), of 37 bits, and each product is below 2^64. */
static uint64_t choose(uint64_t n, uint64_t k)
{
    uint64_t result = 1;
    if (k > n)
        return 0;
    for (uint64_t i = 1; i <= k; i++)
        result = result * (n - k + i) / i;
    return result;
}

static void assert_close(uint64_t n, uint64_t c, uint64_t k, uint64_t numerator,
                         uint64_t denominator)
{
    long double expected = (long double)numerator / (long double)denominator;
    double got = pass_at_k(n, c, k);
    if (fabsl((long double)got - expected) > CLOSE || isnan(got))
        fail_msg("pass_at_k(%d, %d, %d) is %.17g, not %.17Lg", (int)n, (int)c, (int)k, got,
                 expected);
}

/* The formula's own meaning: 1 - C(n-c, k) / C(n, k), as a fraction of integers. */
static void test_all_small_ones(void **state)
{
    int compared = 0;
    (void)state;
    for (uint64_t n = 1; n <= 40; n++) {
        for (uint64_t c = 0; c <= n; c++) {
            for (uint64_t k = 1; k <= n; k++, compared++) {
                uint64_t all = choose(n, k);
                assert_close(n, c, k, all - choose(n - c, k), all);
            }
        }
    }
    assert_int_equal(compared, 22960);
}

static void test_large_ones(void **state)
{
    (void)state;
    assert_close(200, 1, 1, 1, 200);
    /* 1 - (500 * 499 * 498) / (1000 * 999 * 998) */
    assert_close(1000, 3, 500, 1000UL * 999 * 998 - 500UL * 499 * 498, 1000UL * 999 * 998);
    assert_close(100000, 1, 50000, 1, 2);
}

static void test_edges(void **state)
{
    (void)state;
    assert_true(pass_at_k(5, 0, 1) == 0);
    assert_true(pass_at_k(5, 0, 5) == 0);
    assert_true(pass_at_k(5, 5, 1) == 1);
    assert_true(pass_at_k(5, 1, 5) == 1);
    assert_true(pass_at_k(10, 6, 5) == 1);
    assert_true(isnan(pass_at_k(4, 4, 5)));
    assert_true(isnan(pass_at_k(0, 0, 1)));
}

static void assert_ks(const char *text, size_t n, const uint64_t *expected)
{
    struct passk_ks ks;
    struct fault fault = FAULT_NULL;
    assert_int_equal(passk_parse_ks(text, &ks, &fault), 0);
    assert_int_equal(ks.n, n);
    assert_memory_equal(ks.k, expected, n * sizeof(*expected));
    assert_string_equal(fault.text, "");
}

static void test_lists(void **state)
{
    (void)state;
    assert_ks(NULL, 3, (const uint64_t[]){1, 10, 100});
    assert_ks("5", 1, (const uint64_t[]){5});
    assert_ks("1000000,2", 2, (const uint64_t[]){1000000, 2});
    assert_ks("3,1,3,03", 2, (const uint64_t[]){3, 1});
}

static void assert_refused(const char *text, const char *wrong)
{
    struct passk_ks ks = {.n = 77};
    struct fault fault = FAULT_NULL;
    char expected[FAULT_MAX];
    (void)snprintf(expected, sizeof(expected),
                   "--k: expected whole numbers from 1 to 1000000 with commas between them, got "
                   "\"%s\"",
                   wrong);
    assert_int_equal(passk_parse_ks(text, &ks, &fault), -EINVAL);
    assert_string_equal(fault.text, expected);
    assert_int_equal(ks.n, 77);
}

static void test_lists_that_are_none(void **state)
{
    (void)state;
    assert_refused("", "");
    assert_refused("0", "0");
    assert_refused("1,,2", "");
    assert_refused("1,2,", "");
    assert_refused("1, 2", " 2");
    assert_refused("+1", "+1");
    assert_refused("1000001", "1000001");
    assert_refused("18446744073709551617", "18446744073709551617");

    struct passk_ks ks;
    struct fault fault = FAULT_NULL;
    char many[200] = "1";
    for (int i = 2; i <= PASSK_KS_MAX; i++)
        (void)snprintf(many + strlen(many), sizeof(many) - strlen(many), ",%d", i);
    assert_int_equal(passk_parse_ks(many, &ks, &fault), 0);
    strcat(many, ",99");
    assert_int_equal(passk_parse_ks(many, &ks, &fault), -EINVAL);
    assert_string_equal(fault.text, "--k: more than 32 numbers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_small_ones),
        cmocka_unit_test(test_large_ones),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_lists_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
