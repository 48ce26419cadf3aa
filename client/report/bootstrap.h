/* SPDX-License-Identifier: MIT */
#pragma once
/* How sure a mean is: bootstrap intervals of a mean (Efron and Tibshirani 1993, chapters 13 and
 * 14), and Wilson's of a proportion. Pure; the same values and the same seed give the same
 * interval, in whatever order the values stand. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOTSTRAP_RESAMPLES 10000 /* where nothing else is said */
#define BOOTSTRAP_CONFIDENCE 0.95

struct bootstrap_options {
    size_t resamples;  /* at least 1 */
    uint64_t seed;     /* any */
    double confidence; /* above 0, below 1 */
};

/* Two-sided. Where it is not defined, low and high are NAN and WHY_NOT says why; else that is NULL.
 */
struct interval {
    double low, high;
    const char *why_not;
};

struct bootstrap {
    double mean;            /* of the values; NAN where there are none */
    double standard_error;  /* of the resampled means; NAN for fewer than two values */
    double bias_correction; /* z0, ties at their midrank; NAN where BCa is not defined */
    double acceleration;    /* a, by the jackknife; NAN where BCa is not defined */
    struct interval bca;
    struct interval percentile;
};

/* Of N finite values, at most UINT32_MAX. -ENOMEM, -EFBIG. */
int bootstrap_mean(const double *values, size_t n, const struct bootstrap_options *options,
                   struct bootstrap *ret);

/* What BCa is made of, for any statistic: N replicates in ascending order, the estimate itself, and
 * the acceleration. A replicate within TIE of the estimate counts as equal to it. */
double bootstrap_bias_correction(const double *replicates, size_t n, double estimate, double tie);
struct interval bootstrap_bca(const double *replicates, size_t n, double bias_correction,
                              double acceleration, double confidence);

/* From the N differences of the mean of the leave-one-out estimates and each of them; any positive
 * multiple of them will do. NAN where all are 0. */
double bootstrap_acceleration(const double *differences, size_t n);

/* Of SUCCESSES in N independent trials. */
struct interval wilson_interval(uint64_t successes, uint64_t n, double confidence);

/* Of the standard normal distribution; P in (0, 1), else an infinity. */
double normal_cdf(double z);
double normal_quantile(double p);
