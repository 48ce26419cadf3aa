/* SPDX-License-Identifier: MIT */
/* Intervals against what is published, and against what can be known without resampling: the
 * bootstrap distribution of the mean of 0/1 values is binomial. */
#include "client/report/bootstrap.h"
#include "client/report/random.h"
#include "proto/util.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS 20

static void assert_near(double got, double expected, double tolerance, const char *what)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%s is %.17g, not %.17g within %g", what, got, expected, tolerance);
}

/* --- the normal distribution --------------------------------------------------------------- */

static void test_normal(void **state)
{
    /* Abramowitz and Stegun, table 26.5, and beyond it by another implementation (Python). */
    static const double known[][2] = {
        {0.5, 0},
        {0.9, 1.2815515655446004},
        {0.95, 1.6448536269514722},
        {0.975, 1.959963984540054},
        {0.995, 2.5758293035489004},
        {0.9995, 3.2905267314918945},
        {1e-10, -6.361340902404056},
        {1e-300, -37.0470962993612},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        assert_near(normal_quantile(known[i][0]), known[i][1], 1e-12 * (1 + fabs(known[i][1])),
                    "the quantile");
        assert_near(normal_cdf(known[i][1]) / known[i][0], 1,
                    1e-12 * (1 + known[i][1] * known[i][1]), "the distribution over its level");
    }
    for (int i = 1; i < 1000; i++)
        assert_near(normal_cdf(normal_quantile(i / 1000.0)), i / 1000.0, 1e-15, "there and back");
    assert_true(isinf(normal_quantile(0)) && normal_quantile(0) < 0);
    assert_true(isinf(normal_quantile(1)) && normal_quantile(1) > 0);
    assert_true(isnan(normal_quantile(NAN)));
}

/* --- binomial ------------------------------------------------------------------------------ */

static double log_binomial(uint64_t n, uint64_t k, double p)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
           (double)k * log(p) + (double)(n - k) * log1p(-p);
}

/* P(X <= k) for k = 0 .. n, to be freed. */
static double *binomial_cdf(uint64_t n, double p)
{
    double *cdf = calloc(n + 1, sizeof(*cdf)), sum = 0;
    assert_non_null(cdf);
    for (uint64_t k = 0; k <= n; k++)
        cdf[k] = sum += exp(log_binomial(n, k, p));
    return cdf;
}

/* The largest distance of the empirical distribution of DRAWS numbers to the binomial one; by the
 * inequality of Dvoretzky, Kiefer, Wolfowitz and Massart it passes 3.5 / sqrt(DRAWS) with a
 * probability of 5e-11. */
static void test_binomial(void **state)
{
    enum { DRAWS = 200000 };
    static const struct {
        uint64_t n;
        double p;
    } cases[] = {
        {1, 0.5},    {10, 0.3},       {19, 0.5},    {20, 0.5},    {21, 0.5},
        {40, 0.25},  {164, 0.6},      {100, 0.9},   {1000, 0.01}, {1000, 0.011},
        {1000, 0.5}, {20000, 0.0004}, {20000, 0.7},
    };
    static uint32_t seen[20001];
    struct random random;
    (void)state;
    random_init(&random, 7);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t n = cases[i].n, below = 0;
        double largest = 0;
        memset(seen, 0, sizeof(seen));
        for (int d = 0; d < DRAWS; d++) {
            uint64_t k = random_binomial(&random, n, cases[i].p);
            assert_in_range(k, 0, n);
            seen[k]++;
        }
        _cleanup_free_ double *cdf = binomial_cdf(n, cases[i].p);
        for (uint64_t k = 0; k <= n; k++) {
            below += seen[k];
            largest = fmax(largest, fabs((double)below / DRAWS - cdf[k]));
        }
        if (largest > 3.5 / sqrt(DRAWS))
            fail_msg("binomial(%d, %g) is off by %g", (int)n, cases[i].p, largest);
    }
    assert_int_equal(random_binomial(&random, 5, 0), 0);
    assert_int_equal(random_binomial(&random, 5, 1), 5);
    assert_int_equal(random_binomial(&random, 0, 0.5), 0);
}

/* --- 0/1 scores ---------------------------------------------------------------------------- */

static uint64_t smallest(const double *cdf, uint64_t n, double level)
{
    uint64_t k = 0;
    while (k < n && cdf[k] < level)
        k++;
    return k;
}

/* BCa with the exact distribution in the place of the resamples, and how far each level of the
 * resampled interval may be from its own: the correction z0 is off by no more than 5 standard
 * deviations of a share of RESAMPLES, to first order, and so is the share below a level. */
struct oracle {
    double level[2], slack[2];
};

static struct oracle oracle(const double *cdf, uint64_t n, uint64_t s, double confidence)
{
    double p = (double)s / (double)n, below = s > 0 ? cdf[s - 1] : 0;
    double z0 = normal_quantile((below + cdf[s]) / 2);
    /* Of s ones and n - s zeros: the third moment over the second to 3/2, over 6 sqrt(n). */
    double a = (1 - 2 * p) / (6 * sqrt((double)n * p * (1 - p)));
    double z0_off = 5 * sqrt(0.25 / BOOTSTRAP_RESAMPLES) * sqrt(2 * M_PI) * exp(z0 * z0 / 2);
    struct oracle result;
    for (int side = 0; side < 2; side++) {
        double z = normal_quantile((1 + (side ? confidence : -confidence)) / 2);
        double at = z0 + (z0 + z) / (1 - a * (z0 + z));
        double level = normal_cdf(at);
        double slope = 1 + 1 / pow(1 - a * (z0 + z), 2);
        result.level[side] = level;
        result.slack[side] = z0_off * slope * exp(-at * at / 2) / sqrt(2 * M_PI) +
                             5 * sqrt(level * (1 - level) / BOOTSTRAP_RESAMPLES);
    }
    return result;
}

static struct bootstrap bootstrap_of(const double *values, size_t n, double confidence,
                                     uint64_t seed)
{
    struct bootstrap got;
    const struct bootstrap_options options = {
        .resamples = BOOTSTRAP_RESAMPLES, .seed = seed, .confidence = confidence};
    assert_int_equal(bootstrap_mean(values, n, &options, &got), 0);
    return got;
}

/* Returns at how many of the two ends the noise of resampling did not matter. */
static int check_against_oracle(uint64_t n, uint64_t s, double confidence, uint64_t seed)
{
    _cleanup_free_ double *values = calloc(n, sizeof(*values));
    assert_non_null(values);
    for (uint64_t i = 0; i < s; i++)
        values[i * (n - 1) / MAX(s - 1, 1)] = 1; /* anywhere; for s = n each */
    uint64_t ones = 0;
    for (uint64_t i = 0; i < n; i++)
        ones += values[i] == 1;
    assert_int_equal(ones, s);
    struct bootstrap got = bootstrap_of(values, n, confidence, seed);
    _cleanup_free_ double *cdf = binomial_cdf(n, (double)s / (double)n);
    struct oracle exact = oracle(cdf, n, s, confidence);
    int certain = 0;
    for (int side = 0; side < 2; side++) {
        double end = (side ? got.bca.high : got.bca.low) * (double)n;
        double low = (double)smallest(cdf, n, exact.level[side] - exact.slack[side]);
        double high = (double)smallest(cdf, n, exact.level[side] + exact.slack[side]);
        if (low == high) {
            certain++;
            assert_near(end / (double)n, low / (double)n, 1e-9, "an end that is certain");
        } else if (end < low - 1e-6 || end > high + 1e-6) {
            fail_msg("%d of %d at %g: %g is not from %g to %g", (int)s, (int)n, confidence, end,
                     low, high);
        }
        assert_near(end, round(end), 1e-6, "an end on the lattice");
    }
    return certain;
}

static void test_zeros_and_ones(void **state)
{
    static const uint64_t pairs[][2] = {
        {2, 1},     {3, 1},     {5, 2},    {5, 4},      {8, 1},      {10, 5},      {10, 9},
        {12, 3},    {16, 8},    {20, 1},   {20, 19},    {25, 20},    {30, 11},     {40, 2},
        {50, 25},   {64, 60},   {100, 50}, {100, 97},   {164, 98},   {164, 3},     {200, 150},
        {427, 400}, {500, 250}, {1000, 1}, {1000, 321}, {1640, 528}, {5000, 4000}, {20000, 10000},
    };
    static const double confidences[] = {0.9, 0.95};
    int certain = 0, ends = 0;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        for (size_t c = 0; c < ARRAY_SIZE(confidences); c++) {
            for (uint64_t seed = 0; seed < SEEDS; seed++, ends += 2)
                certain += check_against_oracle(pairs[i][0], pairs[i][1], confidences[c], seed);
        }
    }
    print_message("%d of %d ends do not depend on the resamples\n", certain, ends);
    assert_true(certain > 0);
}

/* A published example: 98 of 164 at 95 %, with ties at their midrank. */
static void test_98_of_164(void **state)
{
    double values[164] = {0};
    (void)state;
    for (int i = 0; i < 98; i++)
        values[i] = 1;
    _cleanup_free_ double *cdf = binomial_cdf(164, 98.0 / 164);
    struct oracle exact = oracle(cdf, 164, 98, 0.95);
    assert_near((double)smallest(cdf, 164, exact.level[0]) / 164, 0.5183, 5e-5, "the low end");
    assert_near((double)smallest(cdf, 164, exact.level[1]) / 164, 0.6707, 5e-5, "the high end");
    struct bootstrap got = bootstrap_of(values, 164, 0.95, 1);
    assert_near(got.mean, 98.0 / 164, 1e-15, "the mean");
    assert_near(got.bca.low, 0.5183, 1.01 / 164, "the low end, resampled");
    assert_near(got.bca.high, 0.6707, 1.01 / 164, "the high end, resampled");
}

/* --- published intervals ------------------------------------------------------------------- */

/* R's boot: the mean of these 16 at 95 % is (32.31, 91.43), within 0.5 %. */
static void test_sixteen(void **state)
{
    static const double values[] = {10, 12, 12.5, 12.5, 13.9, 15,  21,  22,
                                    23, 34, 50,   81,   89,   121, 134, 213};
    double low = 0, high = 0;
    (void)state;
    /* Single seeds differ by the noise of 10,000 resamples, about 1 %; their mean is what is held
     * to the published tolerance. */
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct bootstrap got = bootstrap_of(values, ARRAY_SIZE(values), 0.95, seed);
        assert_near(got.bca.low, 32.31, 0.03 * 32.31, "a low end");
        assert_near(got.bca.high, 91.43, 0.03 * 91.43, "a high end");
        low += got.bca.low / SEEDS;
        high += got.bca.high / SEEDS;
    }
    assert_near(low, 32.31, 0.005 * 32.31, "the low end");
    assert_near(high, 91.43, 0.005 * 91.43, "the high end");
}

/* The mean of many values is nearly normal: both intervals reach 1.96 standard errors to each side,
 * within the noise of the resamples. */
static void test_both_intervals_of_even_values(void **state)
{
    double values[101];
    const double z = normal_quantile(0.975);
    (void)state;
    for (int i = 0; i < 101; i++)
        values[i] = i - 50;
    struct bootstrap got = bootstrap_of(values, ARRAY_SIZE(values), 0.95, 1);
    const double standard_error = sqrt(850.0 / 101); /* the variance is (101^2 - 1) / 12 */
    const struct interval both[] = {got.bca, got.percentile};
    assert_near(got.standard_error, standard_error, 0.05 * standard_error, "the standard error");
    for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
        assert_null(both[i].why_not);
        assert_near(both[i].low, -z * standard_error, 0.05 * z * standard_error, "a low end");
        assert_near(both[i].high, z * standard_error, 0.05 * z * standard_error, "a high end");
    }
}

static double variance(const double *values, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return squares / (double)n;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Efron and Tibshirani 1993, chapter 14: the variance of the spatial data A, at 90 %. */
static void test_spatial_data(void **state)
{
    enum { N = 26 };
    static const double values[N] = {48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6,
                                     0,  33, 28, 34, 4,  32, 24, 47, 41, 24, 26, 30, 41};
    static double replicates[BOOTSTRAP_RESAMPLES];
    double one_out[N], differences[N], rest[N], mean = 0;
    struct random random;
    (void)state;
    for (int i = 0; i < N; i++) {
        memcpy(rest, values, sizeof(rest));
        rest[i] = rest[N - 1];
        one_out[i] = variance(rest, N - 1);
        mean += one_out[i] / N;
    }
    for (int i = 0; i < N; i++)
        differences[i] = mean - one_out[i];
    double a = bootstrap_acceleration(differences, N);
    assert_near(variance(values, N), 171.5, 0.05, "the estimate");
    assert_near(a, 0.061, 0.0005, "the acceleration");

    double low = 0, high = 0;
    random_init(&random, 1);
    for (int round = 0; round < SEEDS; round++) {
        for (size_t b = 0; b < BOOTSTRAP_RESAMPLES; b++) {
            for (int i = 0; i < N; i++)
                rest[i] = values[random_next(&random) % N]; /* the bias is 1 in 2^59 */
            replicates[b] = variance(rest, N);
        }
        qsort(replicates, BOOTSTRAP_RESAMPLES, sizeof(*replicates), by_value);
        double z0 =
            bootstrap_bias_correction(replicates, BOOTSTRAP_RESAMPLES, variance(values, N), 0);
        struct interval got = bootstrap_bca(replicates, BOOTSTRAP_RESAMPLES, z0, a, 0.9);
        low += got.low / SEEDS;
        high += got.high / SEEDS;
    }
    assert_near(low, 115.8, 0.02 * 115.8, "the low end");
    assert_near(high, 259.6, 0.02 * 259.6, "the high end");
}

/* --- what is repeatable -------------------------------------------------------------------- */

static void test_order_does_not_matter(void **state)
{
    double values[1000], turned[1000];
    struct random random;
    (void)state;
    random_init(&random, 3);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        turned[ARRAY_SIZE(values) - 1 - i] = values[i] = random_unit(&random);
    struct bootstrap a = bootstrap_of(values, ARRAY_SIZE(values), 0.95, 5);
    struct bootstrap b = bootstrap_of(turned, ARRAY_SIZE(values), 0.95, 5);
    assert_memory_equal(&a, &b, sizeof(a));
    struct bootstrap other = bootstrap_of(values, ARRAY_SIZE(values), 0.95, 6);
    assert_true(a.bca.low != other.bca.low);
    assert_true(a.bca.low < a.mean && a.mean < a.bca.high);
}

/* The standard error of the mean is known: both ways of drawing have it. */
static void test_standard_error(void **state)
{
    static double values[20000];
    (void)state;
    for (int distinct = 100; distinct <= 20000; distinct *= 200) { /* by counts, then singly */
        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
            values[i] = (double)(i % (size_t)distinct) / distinct;
        struct bootstrap got = bootstrap_of(values, ARRAY_SIZE(values), 0.95, 1);
        double expected = sqrt(variance(values, ARRAY_SIZE(values)) / ARRAY_SIZE(values));
        /* Its own standard error is 1 / sqrt(2 * resamples), 0.7 %. */
        assert_near(got.standard_error / expected, 1, 5 * 0.0071, "the standard error's ratio");
        assert_near((got.bca.high - got.bca.low) / (2 * 1.96 * expected), 1, 0.05,
                    "the width's ratio");
    }
}

/* Sums of tenths are rounded differently in another order: ties are ties all the same. */
static void test_ties_of_fractions(void **state)
{
    static const double values[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7};
    double whole[ARRAY_SIZE(values)];
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        whole[i] = (double)(i + 1);
    struct bootstrap tenths = bootstrap_of(values, ARRAY_SIZE(values), 0.95, 2);
    struct bootstrap units = bootstrap_of(whole, ARRAY_SIZE(values), 0.95, 2);
    assert_near(tenths.bias_correction, units.bias_correction, 0, "z0");
    assert_near(tenths.bca.low, units.bca.low / 10, 1e-12, "the low end");
    assert_near(tenths.bca.high, units.bca.high / 10, 1e-12, "the high end");
}

/* --- no interval --------------------------------------------------------------------------- */

static void assert_none(const struct interval *interval, const char *why_not)
{
    assert_true(isnan(interval->low) && isnan(interval->high));
    assert_string_equal(interval->why_not, why_not);
}

static void test_undefined(void **state)
{
    static const double equal[] = {0.3, 0.3, 0.3};
    (void)state;
    struct bootstrap none = bootstrap_of(NULL, 0, 0.95, 1);
    assert_true(isnan(none.mean));
    assert_none(&none.bca, "fewer than two values");
    assert_none(&none.percentile, "fewer than two values");
    struct bootstrap one = bootstrap_of(equal, 1, 0.95, 1);
    assert_true(one.mean == 0.3);
    assert_none(&one.bca, "fewer than two values");
    struct bootstrap same = bootstrap_of(equal, 3, 0.95, 1);
    assert_true(same.mean == 0.3 && same.standard_error == 0);
    assert_none(&same.bca, "all values are equal");
    assert_true(same.percentile.low == 0.3 && same.percentile.high == 0.3);
    assert_null(same.percentile.why_not);

    static const double above[] = {2, 3}, zeros[] = {0, 0};
    double z0 = bootstrap_bias_correction(above, 2, 1, 0);
    struct interval got = bootstrap_bca(above, 2, z0, 0, 0.95);
    assert_none(&got, "all resampled means lie on one side of the mean");
    assert_true(isnan(bootstrap_acceleration(zeros, 2)));
    got = bootstrap_bca(above, 2, 0, 0.6, 0.95);
    assert_none(&got, "the values are too skewed for its correction");
}

static void test_wilson(void **state)
{
    (void)state;
    /* Newcombe 1998, table I. */
    struct interval got = wilson_interval(81, 263, 0.95);
    assert_near(got.low, 0.2553, 5e-5, "the low end");
    assert_near(got.high, 0.3662, 5e-5, "the high end");
    got = wilson_interval(0, 20, 0.95);
    assert_true(got.low == 0);
    assert_near(got.high, 0.1611, 5e-5, "the high end of 0");
    got = wilson_interval(20, 20, 0.95);
    assert_near(got.low, 1 - 0.1611, 5e-5, "the low end of all");
    assert_true(got.high == 1);
    got = wilson_interval(0, 0, 0.95);
    assert_none(&got, "no values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal),         cmocka_unit_test(test_binomial),
        cmocka_unit_test(test_zeros_and_ones), cmocka_unit_test(test_98_of_164),
        cmocka_unit_test(test_sixteen),        cmocka_unit_test(test_both_intervals_of_even_values),
        cmocka_unit_test(test_spatial_data),   cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_standard_error), cmocka_unit_test(test_ties_of_fractions),
        cmocka_unit_test(test_undefined),      cmocka_unit_test(test_wilson),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
