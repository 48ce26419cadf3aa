/* SPDX-License-Identifier: MIT */
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

static int by_item(const void *left, const void *right)
{
    const struct example *a = left, *b = right;
    return (a->item > b->item) - (a->item < b->item);
}

/* Lists the examples that have details, by item. */
static struct example *sort_details(const struct results *results, size_t *ret_n)
{
    size_t n = results->worst.n, room = n;
    for (size_t i = 0; i < results->of_errors.n; i++)
        room += results->of_errors.codes[i].n;
    struct example *details = calloc(room + 1, sizeof(*details));
    if (!details)
        return NULL;
    if (n > 0)
        memcpy(details, results->worst.items, n * sizeof(*details));
    for (size_t i = 0; i < results->of_errors.n; i++)
        for (size_t k = 0; k < results->of_errors.codes[i].n; k++)
            details[n++] = results->of_errors.codes[i].items[k];
    qsort(details, n, sizeof(*details), by_item);
    *ret_n = n;
    return details;
}

struct junit {
    FILE *out;
    const struct results *results;
    const struct example *details;
    size_t n_details;
};

static const char *detail_of(const struct junit *junit, uint32_t item)
{
    const struct example wanted = {.item = item};
    const struct example *found =
        bsearch(&wanted, junit->details, junit->n_details, sizeof(wanted), by_item);
    return found ? found->detail : NULL;
}

static int put_wrong(const struct junit *junit, uint32_t item)
{
    const struct result *result = &junit->results->items[item];
    const char *element = result->state == LINE_ERROR ? "error" : "failure";
    const char *detail = detail_of(junit, item);
    char *codes = failures_codes(junit->results, result);
    if (!codes)
        return -ENOMEM;
    (void)fprintf(junit->out, ">\n      <%s type=\"", element);
    markup_put(junit->out, codes, strlen(codes));
    (void)fputs("\" message=\"", junit->out);
    markup_put(junit->out, detail ? detail : codes, strlen(detail ? detail : codes));
    (void)fputs("\"/>\n    </testcase>\n", junit->out);
    free(codes);
    return 0;
}

static int put_case(const struct junit *junit, uint32_t item)
{
    const struct result *result = &junit->results->items[item];
    _cleanup_json_ json_t *name = results_name(junit->results, item);
    const char *class = intern_text(&junit->results->classes, result->class_no, NULL);
    if (!name)
        return -ENOMEM;
    (void)fputs("    <testcase classname=\"", junit->out);
    markup_put(junit->out, class, strlen(class));
    (void)fputs("\" name=\"", junit->out);
    markup_put(junit->out, json_string_value(name), json_string_length(name));
    (void)fprintf(junit->out, "\" time=\"%.3f\"", seconds_of(result));
    if (result->state != LINE_PASSED)
        return put_wrong(junit, item);
    (void)fputs("/>\n", junit->out);
    return 0;
}

static int put_suite(const struct junit *junit, uint16_t class_no, const uint32_t *items, size_t n,
                     const struct suite *suite)
{
    const char *class = intern_text(&junit->results->classes, class_no, NULL);
    int r = 0;
    (void)fputs("  <testsuite name=\"", junit->out);
    markup_put(junit->out, class, strlen(class));
    (void)fputc('"', junit->out);
    put_counts(junit->out, suite);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = put_case(junit, items[i]);
    (void)fputs("  </testsuite>\n", junit->out);
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
    struct junit junit = {.out = out, .results = results};
    _cleanup_free_ struct example *details = sort_details(results, &junit.n_details);
    if (!order || !details)
        return -ENOMEM;
    junit.details = details;
    (void)fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"rubricctl\"", out);
    put_counts(out, &suites[results->classes.n]);
    int r = 0;
    for (size_t i = 0, at = 0; r == 0 && i < results->classes.n; at += suites[i++].tests)
        if (suites[i].tests > 0)
            r = put_suite(&junit, (uint16_t)i, order + at, suites[i].tests, &suites[i]);
    (void)fputs("</testsuites>\n", out);
    return r;
}
