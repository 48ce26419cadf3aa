/* SPDX-License-Identifier: MIT */
#include "exposition.h"

#include "daemon/base/clock.h"

#include <inttypes.h>
#include <stdbool.h>

static const struct {
    const char *name, *old_name;
    const char *suffix; /* of samples */
    bool is_old_named_by_sample;
} types[] = {
    [EXPOSITION_COUNTER] = {"counter", "counter", "_total", true},
    [EXPOSITION_GAUGE] = {"gauge", "gauge", "", false},
    [EXPOSITION_HISTOGRAM] = {"histogram", "histogram", "", false},
    [EXPOSITION_INFO] = {"info", "gauge", "_info", true},
    [EXPOSITION_STATESET] = {"stateset", "gauge", "", false},
};

const char *exposition_content_type(enum exposition_format format)
{
    return format == EXPOSITION_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

void exposition_family(struct exposition *exposition, const char *name, enum exposition_type type,
                       const char *unit, const char *help)
{
    bool is_old = exposition->format == EXPOSITION_PROMETHEUS;
    const char *suffix = is_old && types[type].is_old_named_by_sample ? types[type].suffix : "";
    exposition->family = name;
    exposition->type = type;
    (void)fprintf(exposition->out, "# TYPE %s%s %s\n", name, suffix,
                  is_old ? types[type].old_name : types[type].name);
    if (unit && !is_old)
        (void)fprintf(exposition->out, "# UNIT %s %s\n", name, unit);
    (void)fprintf(exposition->out, "# HELP %s%s %s\n", name, suffix, help);
}

static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            (void)fputs("\\n", out);
        else if (*text == '"' || *text == '\\')
            (void)fprintf(out, "\\%c", *text);
        else
            (void)fputc(*text, out);
    }
}

/* Writes name, labels and the blank before the value. LE: the bound of a bucket; NULL elsewhere. */
static void put_name(const struct exposition *exposition, const char *suffix,
                     const struct exposition_label *labels, size_t n, const char *le)
{
    FILE *out = exposition->out;
    (void)fprintf(out, "%s%s", exposition->family, suffix);
    if (n > 0 || le)
        (void)fputc('{', out);
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(out, "%s%s=\"", i > 0 ? "," : "", labels[i].name);
        put_escaped(out, labels[i].value);
        (void)fputc('"', out);
    }
    if (le)
        (void)fprintf(out, "%sle=\"%s\"", n > 0 ? "," : "", le);
    (void)fputs(n > 0 || le ? "} " : " ", out);
}

static void put_seconds(FILE *out, uint64_t ns)
{
    (void)fprintf(out, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}

void exposition_integer(const struct exposition *exposition, const struct exposition_label *labels,
                        size_t n, uint64_t value)
{
    put_name(exposition, types[exposition->type].suffix, labels, n, NULL);
    (void)fprintf(exposition->out, "%" PRIu64 "\n", value);
}

void exposition_seconds(const struct exposition *exposition, const struct exposition_label *labels,
                        size_t n, uint64_t value_ns)
{
    put_name(exposition, types[exposition->type].suffix, labels, n, NULL);
    put_seconds(exposition->out, value_ns);
}

/* Prints a bound as the canonical float that the specification asks for: "0.005", "1.0". */
static void print_bound(size_t i, char *text, size_t size)
{
    uint64_t ms = histogram_bounds_ms[i];
    if (ms % 1000 == 0)
        (void)snprintf(text, size, "%" PRIu64 ".0", ms / 1000);
    else
        (void)snprintf(text, size, "%g", (double)ms / 1000);
}

void exposition_histogram(const struct exposition *exposition,
                          const struct exposition_label *labels, size_t n,
                          const struct histogram *histogram)
{
    uint64_t below = 0;
    for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
        char le[32];
        print_bound(i, le, sizeof(le));
        below += histogram->of[i];
        put_name(exposition, "_bucket", labels, n, le);
        (void)fprintf(exposition->out, "%" PRIu64 "\n", below);
    }
    put_name(exposition, "_bucket", labels, n, "+Inf");
    (void)fprintf(exposition->out, "%" PRIu64 "\n", histogram->count);
    put_name(exposition, "_sum", labels, n, NULL);
    put_seconds(exposition->out, histogram->sum_ns);
    put_name(exposition, "_count", labels, n, NULL);
    (void)fprintf(exposition->out, "%" PRIu64 "\n", histogram->count);
}

void exposition_end(const struct exposition *exposition)
{
    if (exposition->format == EXPOSITION_OPENMETRICS)
        (void)fputs("# EOF\n", exposition->out);
}
