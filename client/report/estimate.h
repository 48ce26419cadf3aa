/* SPDX-License-Identifier: MIT */
#pragma once
/* A mean over cases, with the interval that fits its values. Pure. */

#include "bootstrap.h"

#include "proto/json.h"

/* How the interval of a mean was computed. */
enum estimate_method {
    ESTIMATE_NONE, /* no interval: fewer than two values, and Wilson's does not apply */
    ESTIMATE_BCA,
    ESTIMATE_WILSON,     /* BCa is undefined and each value is 0 or 1 */
    ESTIMATE_PERCENTILE, /* BCa is undefined and some value is neither */
};

struct estimate {
    size_t n;
    bool binary; /* the values are shares, each 0 or 1 */
    struct bootstrap bootstrap;
    struct interval wilson; /* if binary */
    enum estimate_method method;
    struct interval interval; /* computed by `method` */
};

/* The kind of values. Wilson's interval is defined for proportions, not for their differences. */
enum estimate_of {
    ESTIMATE_SHARES, /* from 0 to 1 */
    ESTIMATE_DIFFERENCES,
};

/* Estimates the mean of N values, which may be 0. 0, -ENOMEM, or -EFBIG if N exceeds UINT32_MAX. */
int estimate(const double *values, size_t n, enum estimate_of of,
             const struct bootstrap_options *options, struct estimate *ret);

/* Makes {mean, n, standard_error, interval, bca, percentile, wilson, ...}, which the caller owns;
 * NULL when memory runs out. */
json_t *estimate_json(const struct estimate *estimate);
