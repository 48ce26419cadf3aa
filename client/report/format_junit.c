/* SPDX-License-Identifier: MIT */
#include "evidence.h"
#include "failures.h"
#include "formats.h"
#include "markup.h"

#include <inttypes.h>
#include <string.h>

struct suite {
    uint64_t tests, failures, errors;
    double seconds;
};

static double seconds_of(const struct result *result)
{
    return result->wall_ms == LINE_MS_UNKNOWN ? 0 : (double)result->wall_ms / 1000;
}

/* Counts one suite for each task class, and behind them one for all. */
static struct suite *count_suites(const struct results *results)
{
    size_t n = results->classes.n;
    struct suite *suites = calloc(n + 1, sizeof(*suites));
    for (size_t i = 0; suites && i < results->n; i++) {
        const struct result *result = &results->items[i];
        struct suite *const both[] = {&suites[result->class_no], &suites[n]};
        for (size_t k = 0; k < ARRAY_SIZE(both); k++) {
            both[k]->tests++;
            both[k]->failures += result->state == LINE_FAILED;
            both[k]->errors += result->state == LINE_ERROR;
            both[k]->seconds += seconds_of(result);
        }
    }
    return suites;
}

static void put_counts(FILE *out, const struct suite *suite)
{
    (void)fprintf(out,
                  " tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%" PRIu64
                  "\" time=\"%.3f\">\n",
                  suite->tests, suite->failures, suite->errors, suite->seconds);
}

/* Writes "message" and, as text of the element, what the job wrote. */
static void put_reason(FILE *out, const char *codes, const char *detail, const char *output)
{
    const char *message = evidence_replaces(detail, output) ? evidence_last_line(output)
                          : detail                          ? detail
                                                            : codes;
    (void)fputs("\" message=\"", out);
    markup_put(out, message, strlen(message));
    if (!output)
        return;
    (void)fputs("\">", out);
    markup_put_lines(out, output, strlen(output));
}

static int put_wrong(const struct results *results, FILE *out, uint32_t item)
{
    const struct result *result = &results->items[item];
    const char *element = result->state == LINE_ERROR ? "error" : "failure";
    _cleanup_free_ char *codes = failures_codes(results, result), *detail = NULL, *output = NULL;
    if (!codes)
        return -ENOMEM;
    int r = results->spool ? spool_get(results->spool, result->said, &detail, &output) : 0;
    if (r < 0)
        return r;
    (void)fprintf(out, ">\n      <%s type=\"", element);
    markup_put(out, codes, strlen(codes));
    put_reason(out, codes, detail, output);
    if (output)
        (void)fprintf(out, "</%s>\n    </testcase>\n", element);
    else
        (void)fputs("\"/>\n    </testcase>\n", out);
    return 0;
}

static int put_case(const struct results *results, FILE *out, uint32_t item)
{
    const struct result *result = &results->items[item];
    _cleanup_json_ json_t *name = results_name(results, item);
    const char *class = intern_text(&results->classes, result->class_no, NULL);
    if (!name)
        return -ENOMEM;
    (void)fputs("    <testcase classname=\"", out);
    markup_put(out, class, strlen(class));
    (void)fputs("\" name=\"", out);
    markup_put(out, json_string_value(name), json_string_length(name));
    (void)fprintf(out, "\" time=\"%.3f\"", seconds_of(result));
    if (result->state != LINE_PASSED)
        return put_wrong(results, out, item);
    (void)fputs("/>\n", out);
    return 0;
}

static int put_suite(const struct results *results, FILE *out, uint16_t class_no,
                     const uint32_t *items, size_t n, const struct suite *suite)
{
    const char *class = intern_text(&results->classes, class_no, NULL);
    int r = 0;
    (void)fputs("  <testsuite name=\"", out);
    markup_put(out, class, strlen(class));
    (void)fputc('"', out);
    put_counts(out, suite);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = put_case(results, out, items[i]);
    (void)fputs("  </testsuite>\n", out);
    return r;
}

/* Lists the items of each class together, in their order. */
static uint32_t *order_items(const struct results *results, const struct suite *suites)
{
    uint32_t *order = calloc(results->n + 1, sizeof(*order));
    size_t *at = calloc(results->classes.n + 1, sizeof(*at));
    if (order && at) {
        for (size_t i = 0; i < results->classes.n; i++)
            at[i + 1] = at[i] + suites[i].tests;
        for (size_t i = 0; i < results->n; i++)
            order[at[results->items[i].class_no]++] = (uint32_t)i;
    }
    bool good = at != NULL;
    free(at);
    return good ? order : (free(order), NULL);
}

int format_junit(FILE *out, const struct report_view *view)
{
    const struct results *results = view->results;
    _cleanup_free_ struct suite *suites = count_suites(results);
    _cleanup_free_ uint32_t *order = suites ? order_items(results, suites) : NULL;
    if (!order)
        return -ENOMEM;
    (void)fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"rubricctl\"", out);
    put_counts(out, &suites[results->classes.n]);
    int r = 0;
    for (size_t i = 0, at = 0; r == 0 && i < results->classes.n; at += suites[i++].tests)
        if (suites[i].tests > 0)
            r = put_suite(results, out, (uint16_t)i, order + at, suites[i].tests, &suites[i]);
    (void)fputs("</testsuites>\n", out);
    return r;
}
