/* SPDX-License-Identifier: MIT */
#include "estimate.h"

#include <math.h>

static const char *const names[] = {
    [ESTIMATE_NONE] = "none",
    [ESTIMATE_BCA] = "bca",
    [ESTIMATE_WILSON] = "wilson",
    [ESTIMATE_PERCENTILE] = "percentile",
};

static enum estimate_method choose(const struct estimate *estimate)
{
    if (!estimate->bootstrap.bca.why_not)
        return ESTIMATE_BCA;
    if (estimate->binary && !estimate->wilson.why_not)
        return ESTIMATE_WILSON;
    return estimate->bootstrap.percentile.why_not ? ESTIMATE_NONE : ESTIMATE_PERCENTILE;
}

int estimate(const double *values, size_t n, enum estimate_of of,
             const struct bootstrap_options *options, struct estimate *ret)
{
    struct estimate made = {.n = n, .binary = n > 0 && of == ESTIMATE_SHARES};
    uint64_t ones = 0;
    int r = bootstrap_mean(values, n, options, &made.bootstrap);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        ones += values[i] == 1;
        made.binary &= values[i] == 0 || values[i] == 1;
    }
    /* Without any trial, Wilson's interval is undefined. */
    made.wilson = wilson_interval(made.binary ? ones : 0, made.binary ? n : 0, options->confidence);
    made.method = choose(&made);
    const struct interval intervals[] = {
        [ESTIMATE_NONE] = made.bootstrap.bca,
        [ESTIMATE_BCA] = made.bootstrap.bca,
        [ESTIMATE_WILSON] = made.wilson,
        [ESTIMATE_PERCENTILE] = made.bootstrap.percentile,
    };
    made.interval = intervals[made.method];
    *ret = made;
    return 0;
}

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *interval_json(const struct interval *interval)
{
    return json_pack("{s:o,s:o,s:s?}", "low", number_or_null(interval->low), "high",
                     number_or_null(interval->high), "why_not", interval->why_not);
}

json_t *estimate_json(const struct estimate *estimate)
{
    const struct bootstrap *b = &estimate->bootstrap;
    bool has_one = estimate->method != ESTIMATE_NONE;
    return json_pack(
        "{s:o,s:I,s:o,s:{s:s?,s:o,s:o,s:s?},s:o,s:o,s:o,s:o,s:o}", "mean", number_or_null(b->mean),
        "n", (json_int_t)estimate->n, "standard_error", number_or_null(b->standard_error),
        "interval", "method", has_one ? names[estimate->method] : NULL, "low",
        number_or_null(estimate->interval.low), "high", number_or_null(estimate->interval.high),
        "why_not", estimate->method == ESTIMATE_BCA ? NULL : b->bca.why_not, "bca",
        interval_json(&b->bca), "percentile", interval_json(&b->percentile), "wilson",
        estimate->binary ? interval_json(&estimate->wilson) : json_null(), "bias_correction",
        number_or_null(b->bias_correction), "acceleration", number_or_null(b->acceleration));
}
