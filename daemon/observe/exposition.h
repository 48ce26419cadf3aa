/* SPDX-License-Identifier: MIT */
#pragma once
/* How metrics are written: OpenMetrics 1.0.0, and the
 * older text format of Prometheus, 0.0.4, for scrapers that know nothing else. Which metrics there
 * are is not known here. Pure. */

#include "histogram.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum exposition_format {
    EXPOSITION_OPENMETRICS,
    /* The samples are the same. It has no units and no end mark, counters are called by the name of
     * their samples, and infos and state sets are gauges. */
    EXPOSITION_PROMETHEUS,
};

/* Of the HTTP reply. */
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
    const char *value; /* any text; it is escaped */
};

/* Begins a family; the samples that follow are of it. NAME is without the suffix of the type and
 * ends with UNIT, unless that is NULL. HELP is one line without quotes and backslashes. All texts
 * are borrowed until the next family. */
void exposition_family(struct exposition *exposition, const char *name, enum exposition_type type,
                       const char *unit, const char *help);

/* A sample of a counter, gauge, info (VALUE is 1) or state set (0 or 1). */
void exposition_integer(const struct exposition *exposition, const struct exposition_label *labels,
                        size_t n, uint64_t value);

/* The same in seconds. */
void exposition_seconds(const struct exposition *exposition, const struct exposition_label *labels,
                        size_t n, uint64_t value_ns);

/* All samples of a histogram of seconds. */
void exposition_histogram(const struct exposition *exposition,
                          const struct exposition_label *labels, size_t n,
                          const struct histogram *histogram);

/* After the last family. */
void exposition_end(const struct exposition *exposition);
