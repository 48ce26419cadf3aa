/* SPDX-License-Identifier: MIT */
#pragma once
/* Writes metrics as text: OpenMetrics 1.0.0, or the older format of Prometheus, 0.0.4, for scrapers
 * that know nothing else. metrics.c knows which metrics there are. Pure. */

#include "histogram.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum exposition_format {
    EXPOSITION_OPENMETRICS,
    /* Has the same samples, but no units and no end mark; names a counter as its samples are named;
     * and makes infos and state sets gauges. */
    EXPOSITION_PROMETHEUS,
};

/* The Content-Type of an HTTP reply in FORMAT. */
const char *exposition_content_type(enum exposition_format format);

enum exposition_type {
    EXPOSITION_COUNTER,
    EXPOSITION_GAUGE,
    EXPOSITION_HISTOGRAM,
    EXPOSITION_INFO,
    EXPOSITION_STATESET,
};

struct exposition {
    FILE *out;
    enum exposition_format format;
    const char *family;
    enum exposition_type type;
};

struct exposition_label {
    const char *name;
    const char *value; /* any text; escaped when written */
};

/* Begins a family, to which the samples that follow belong. NAME has no suffix of the type, and
 * ends with UNIT unless that is NULL. HELP is one line without quotes and backslashes. Borrows the
 * texts until the next family. */
void exposition_family(struct exposition *exposition, const char *name, enum exposition_type type,
                       const char *unit, const char *help);

/* Writes a sample of a counter, a gauge, an info (VALUE is 1) or a state set (VALUE is 0 or 1). */
void exposition_integer(const struct exposition *exposition, const struct exposition_label *labels,
                        size_t n, uint64_t value);

/* Writes a sample in seconds. */
void exposition_seconds(const struct exposition *exposition, const struct exposition_label *labels,
                        size_t n, uint64_t value_ns);

/* Writes all samples of a histogram, in seconds. */
void exposition_histogram(const struct exposition *exposition,
                          const struct exposition_label *labels, size_t n,
                          const struct histogram *histogram);

/* Ends the text. To be called after the last family. */
void exposition_end(const struct exposition *exposition);
