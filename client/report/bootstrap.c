/* SPDX-License-Identifier: MIT */
#include "bootstrap.h"
#include "random.h"

#include "proto/util.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Drawing one value takes about a nanosecond, drawing the count of one distinct value about a
 * hundred. From this many values per distinct one on, counts are drawn. */
#define COUNTS_WORTH 128
/* Sums of the same values in different orders differ by rounding. */
#define TIE_TOLERANCE 1e-9

static const char too_few[] = "fewer than two values";
static const char no_variance[] = "all values are equal";
static const char one_sided[] = "all resampled means lie on one side of the mean";
static const char too_skewed[] = "the values are too skewed for its correction";
static const char no_trials[] = "no values";

static struct interval undefined(const char *why_not)
{
    return (struct interval){.low = NAN, .high = NAN, .why_not = why_not};
}

/* --- the normal distribution --------------------------------------------------------------- */

double normal_cdf(double z)
{
    return 0.5 * erfc(-z * M_SQRT1_2);
}

/* A first guess (Abramowitz and Stegun 26.2.23), then Newton's method with Halley's correction on
 * the tail, whose relative error stays small. */
double normal_quantile(double p)
{
    if (!(p > 0 && p < 1))
        return p >= 1 ? INFINITY : p <= 0 ? -INFINITY : NAN;
    const double tail = MIN(p, 1 - p), t = sqrt(-2 * log(tail));
    double z = (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
               t;
    for (int i = 0; i < 3; i++) {
        double density = exp(-0.5 * z * z) / sqrt(2 * M_PI);
        double step = (normal_cdf(z) - tail) / density;
        z -= step / (1 + 0.5 * step * z);
    }
    return p < 0.5 ? z : -z;
}

/* --- resampling ---------------------------------------------------------------------------- */

/* The values in ascending order, and the count of each distinct one. */
struct sample {
    double *values;
    size_t n;
    double *distinct;
    uint32_t *counts;
    size_t n_distinct;
};

static void sample_deinit(struct sample *sample)
{
    free(sample->values);
    free(sample->distinct);
    free(sample->counts);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int sample_init(struct sample *sample, const double *values, size_t n)
{
    *sample = (struct sample){.n = n};
    sample->values = calloc(n, sizeof(*values));
    sample->distinct = calloc(n, sizeof(*values));
    sample->counts = calloc(n, sizeof(*sample->counts));
    if (!sample->values || !sample->distinct || !sample->counts)
        return -ENOMEM;
    memcpy(sample->values, values, n * sizeof(*values));
    qsort(sample->values, n, sizeof(*values), by_value);
    for (size_t i = 0; i < n; i++) {
        size_t last = sample->n_distinct - 1;
        if (sample->n_distinct > 0 && sample->distinct[last] == sample->values[i]) {
            sample->counts[last]++;
        } else {
            sample->distinct[sample->n_distinct] = sample->values[i];
            sample->counts[sample->n_distinct++] = 1;
        }
    }
    return 0;
}

/* Returns a uniform number below N (Lemire 2019), from 32 random BITS. Draws other bits if these
 * would favour some numbers. */
static inline uint32_t below(struct random *random, uint32_t bits, uint32_t n)
{
    uint64_t product = (uint64_t)bits * n;
    if ((uint32_t)product < n) {
        const uint32_t unfair = -n % n;
        while ((uint32_t)product < unfair)
            product = (random_next(random) >> 32) * n;
    }
    return (uint32_t)(product >> 32);
}

/* Returns the sum of N values drawn from the N values with replacement. */
static double resampled_sum(struct random *random, const double *values, uint32_t n)
{
    double sum[2] = {0, 0};
    for (uint32_t i = 0; i + 1 < n; i += 2) {
        uint64_t bits = random_next(random);
        sum[0] += values[below(random, (uint32_t)bits, n)];
        sum[1] += values[below(random, (uint32_t)(bits >> 32), n)];
    }
    if (n % 2)
        sum[0] += values[below(random, (uint32_t)random_next(random), n)];
    return sum[0] + sum[1];
}

/* The same, drawing how often each distinct value occurs: a binomial share of the draws left. */
static double resampled_sum_by_counts(struct random *random, const struct sample *sample)
{
    double sum = 0;
    uint64_t to_draw = sample->n, from = sample->n;
    for (size_t i = 0; i < sample->n_distinct && to_draw > 0; i++) {
        uint32_t count = sample->counts[i];
        uint64_t k = random_binomial(random, to_draw, (double)count / (double)from);
        sum += (double)k * sample->distinct[i];
        to_draw -= k;
        from -= count;
    }
    return sum;
}

static void resample_means(const struct sample *sample, uint64_t seed, double *ret, size_t n)
{
    struct random random;
    random_init(&random, seed);
    const bool by_counts = sample->n_distinct * COUNTS_WORTH < sample->n;
    for (size_t i = 0; i < n; i++)
        ret[i] = (by_counts ? resampled_sum_by_counts(&random, sample)
                            : resampled_sum(&random, sample->values, (uint32_t)sample->n)) /
                 (double)sample->n;
    qsort(ret, n, sizeof(*ret), by_value);
}

/* --- intervals ----------------------------------------------------------------------------- */

/* Returns the smallest of the sorted replicates that a share P of them does not exceed. */
static double quantile(const double *replicates, size_t n, double p)
{
    assert(n > 0);
    double rank = ceil(p * (double)n);
    return replicates[rank < 1 ? 0 : MIN((size_t)rank, n) - 1];
}

double bootstrap_bias_correction(const double *replicates, size_t n, double estimate, double tie)
{
    size_t below_it = 0, equal = 0;
    for (size_t i = 0; i < n; i++) {
        if (fabs(replicates[i] - estimate) <= tie)
            equal++;
        else
            below_it += replicates[i] < estimate;
    }
    return normal_quantile(((double)below_it + 0.5 * (double)equal) / (double)n);
}

double bootstrap_acceleration(const double *differences, size_t n)
{
    double largest = 0, squares = 0, cubes = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(differences[i]));
    if (largest == 0)
        return NAN;
    for (size_t i = 0; i < n; i++) {
        double d = differences[i] / largest;
        squares += d * d;
        cubes += d * d * d;
    }
    return cubes / (6 * pow(squares, 1.5));
}

/* Returns the level at which BCa takes the quantile, for the level whose normal quantile is Z; NAN
 * if there is none. */
static double corrected_level(double z, double bias_correction, double acceleration)
{
    double shifted = bias_correction + z, scale = 1 - acceleration * shifted;
    return scale > 0 ? normal_cdf(bias_correction + shifted / scale) : NAN;
}

struct interval bootstrap_bca(const double *replicates, size_t n, double bias_correction,
                              double acceleration, double confidence)
{
    if (n == 0 || !isfinite(bias_correction))
        return undefined(one_sided);
    if (isnan(acceleration))
        return undefined(no_variance);
    double z = normal_quantile((1 + confidence) / 2);
    double low = corrected_level(-z, bias_correction, acceleration);
    double high = corrected_level(z, bias_correction, acceleration);
    if (isnan(low) || isnan(high))
        return undefined(too_skewed);
    return (struct interval){.low = quantile(replicates, n, low),
                             .high = quantile(replicates, n, high)};
}

static double standard_deviation(const double *values, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
}

/* SAMPLE has at least two distinct values. */
static int bootstrap_sample(const struct sample *sample, const struct bootstrap_options *options,
                            struct bootstrap *ret)
{
    const size_t n = options->resamples;
    _cleanup_free_ double *replicates = calloc(n, sizeof(*replicates));
    _cleanup_free_ double *differences = calloc(sample->n, sizeof(*differences));
    if (!replicates || !differences)
        return -ENOMEM;
    resample_means(sample, options->seed, replicates, n);
    double range = sample->values[sample->n - 1] - sample->values[0];
    /* A leave-one-out mean differs from the mean of all of them by (value - mean) / (n - 1). */
    for (size_t i = 0; i < sample->n; i++)
        differences[i] = sample->values[i] - ret->mean;
    ret->standard_error = standard_deviation(replicates, n);
    ret->bias_correction = bootstrap_bias_correction(replicates, n, ret->mean,
                                                     TIE_TOLERANCE * range / (double)sample->n);
    ret->acceleration = bootstrap_acceleration(differences, sample->n);
    ret->bca =
        bootstrap_bca(replicates, n, ret->bias_correction, ret->acceleration, options->confidence);
    ret->percentile =
        (struct interval){.low = quantile(replicates, n, (1 - options->confidence) / 2),
                          .high = quantile(replicates, n, (1 + options->confidence) / 2)};
    return 0;
}

int bootstrap_mean(const double *values, size_t n, const struct bootstrap_options *options,
                   struct bootstrap *ret)
{
    *ret = (struct bootstrap){.mean = NAN,
                              .standard_error = NAN,
                              .bias_correction = NAN,
                              .acceleration = NAN,
                              .bca = undefined(too_few),
                              .percentile = undefined(too_few)};
    assert(options->resamples > 0);
    assert(options->confidence > 0 && options->confidence < 1);
    if (n > UINT32_MAX)
        return -EFBIG;
    if (n == 0)
        return 0;
    _cleanup_(sample_deinit) struct sample sample;
    int r = sample_init(&sample, values, n);
    if (r < 0)
        return r;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += sample.values[i];
    ret->mean = sum / (double)n;
    if (n < 2)
        return 0;
    if (sample.n_distinct < 2) {
        ret->mean = sample.values[0];
        ret->standard_error = 0;
        ret->bca = undefined(no_variance);
        ret->percentile = (struct interval){.low = ret->mean, .high = ret->mean};
        return 0;
    }
    return bootstrap_sample(&sample, options, ret);
}

struct interval wilson_interval(uint64_t successes, uint64_t n, double confidence)
{
    assert(successes <= n);
    if (n == 0)
        return undefined(no_trials);
    double z = normal_quantile((1 + confidence) / 2), trials = (double)n;
    double p = (double)successes / trials, shrink = 1 + z * z / trials;
    double centre = (p + z * z / (2 * trials)) / shrink;
    double half = z / shrink * sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials));
    return (struct interval){.low = successes == 0 ? 0 : centre - half,
                             .high = successes == n ? 1 : centre + half};
}
