/* SPDX-License-Identifier: MIT */
#pragma once
/* A mean over cases with the interval that deserves belief. Pure. */

#include "bootstrap.h"

#include "proto/json.h"

/* Which of the intervals stands behind a mean. */
enum estimate_method {
    ESTIMATE_NONE, /* fewer than two values that are not proportions */
    ESTIMATE_BCA,
    ESTIMATE_WILSON,     /* BCa is undefined and each value is 0 or 1 */
    ESTIMATE_PERCENTILE, /* BCa is undefined and they are not */
};

struct estimate {
    size_t n;
    bool binary; /* shares that are all 0 or 1 */
    struct bootstrap bootstrap;
    struct interval wilson; /* where BINARY */
    enum estimate_method method;
    struct interval interval; /* by METHOD */
};

/* What the values are: Wilson's interval is one of shares, not of their differences. */
enum estimate_of {
    ESTIMATE_SHARES, /* from 0 to 1 */
    ESTIMATE_DIFFERENCES,
};

/* -ENOMEM, -EFBIG. */
int estimate(const double *values, size_t n, enum estimate_of of,
             const struct bootstrap_options *options, struct estimate *ret);

/* {mean, n, standard_error, interval, bca, percentile, wilson, ...}; NULL when memory runs out. */
json_t *estimate_json(const struct estimate *estimate);

const char *estimate_method_name(enum estimate_method method);
