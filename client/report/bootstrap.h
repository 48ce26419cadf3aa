/* SPDX-License-Identifier: MIT */
#pragma once
/* Confidence intervals: of a mean by the bootstrap (Efron and Tibshirani 1993, chapters 13 and 14),
 * of a proportion by Wilson's formula. Pure. The same values and the same seed give the same
 * interval, whatever the order of the values. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Defaults. */
#define BOOTSTRAP_RESAMPLES 10000
#define BOOTSTRAP_CONFIDENCE 0.95

struct bootstrap_options {
    size_t resamples;  /* at least 1 */
    uint64_t seed;     /* any */
    double confidence; /* above 0, below 1 */
};

/* Two-sided. If it is undefined, low and high are NAN and why_not says why; else why_not is NULL.
 */
struct interval {
    double low, high;
    const char *why_not;
};

struct bootstrap {
    double mean;            /* of the values; NAN without any */
    double standard_error;  /* of the resampled means; NAN for fewer than two values */
    double bias_correction; /* z0, ties at their midrank; NAN if BCa is undefined */
    double acceleration;    /* a, by the jackknife; NAN if BCa is undefined */
    struct interval bca;
    struct interval percentile;
};

/* Bootstraps the mean of N finite values. 0, -ENOMEM, or -EFBIG if N exceeds UINT32_MAX. */
int bootstrap_mean(const double *values, size_t n, const struct bootstrap_options *options,
                   struct bootstrap *ret);

/* The parts of BCa, for any statistic. REPLICATES are N resampled estimates in ascending order; one
 * within TIE of ESTIMATE counts as equal to it. */
double bootstrap_bias_correction(const double *replicates, size_t n, double estimate, double tie);
struct interval bootstrap_bca(const double *replicates, size_t n, double bias_correction,
                              double acceleration, double confidence);

/* Returns the acceleration. DIFFERENCES has, for each of N leave-one-out estimates, the mean of all
 * of them minus that estimate, or the same multiple of it for all. NAN if all are 0. */
double bootstrap_acceleration(const double *differences, size_t n);

/* Wilson's interval of SUCCESSES in N independent trials. */
struct interval wilson_interval(uint64_t successes, uint64_t n, double confidence);

/* The standard normal distribution and its inverse, which is infinite unless P is in (0, 1). */
double normal_cdf(double z);
double normal_quantile(double p);
