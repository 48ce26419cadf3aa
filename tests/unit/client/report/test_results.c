/* SPDX-License-Identifier: MIT */
#include "client/report/cases.h"
#include "client/report/estimate.h"
#include "client/report/facts.h"
#include "client/report/failures.h"
#include "client/report/formats.h"
#include "client/report/latency.h"
#include "client/report/markup.h"
#include "client/report/runreport.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NEAR 1e-12

static int add(struct results *results, uint16_t file_no, const char *text)
{
    _cleanup_json_ json_t *object = NULL;
    struct line line;
    struct fault fault = FAULT_NULL;
    assert_int_equal(json_read_object(text, strlen(text), &object, &fault), 0);
    assert_int_equal(line_decode(object, &line, &fault), 0);
    return results_add(results, &line, file_no, &fault);
}

/* A result of the case ID. */
static int add_score(struct results *results, uint16_t file_no, const char *id, double score)
{
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "{\"type\":\"result\",\"id\":\"%s\",\"kind\":\"rubric\",\"score\":{\"passed\":"
                   "%s,\"score\":%g,\"cost_usd\":0.5,\"failure_modes\":[%s]},"
                   "\"usage\":{\"wall_clock_ms\":%d}}",
                   id, score == 1 ? "true" : "false", score,
                   score == 1 ? "" : "{\"code\":\"bad\",\"severity\":\"block\",\"detail\":\"d\"}",
                   (int)(100 * score) + 1);
    return add(results, file_no, text);
}

static void test_intern(void **state)
{
    struct intern intern = INTERN_NULL;
    uint32_t number;
    (void)state;
    assert_int_equal(intern_find(&intern, "a", 1), INTERN_NONE);
    for (uint32_t i = 0; i < 10000; i++) {
        char text[16];
        int n = snprintf(text, sizeof(text), "%" PRIu32, i);
        assert_int_equal(intern_put(&intern, text, (size_t)n, &number), 0);
        assert_int_equal(number, i);
    }
    size_t n;
    assert_int_equal(intern_put(&intern, "77", 2, &number), 0);
    assert_int_equal(number, 77);
    assert_string_equal(intern_text(&intern, 9999, &n), "9999");
    assert_int_equal(n, 4);
    assert_int_equal(intern_put(&intern, "a\0b", 3, &number), 0);
    assert_int_equal(intern_find(&intern, "a\0c", 3), INTERN_NONE);
    assert_int_equal(intern_find(&intern, "a", 1), INTERN_NONE);
    assert_int_equal(intern_find(&intern, "a\0b", 3), number);
    assert_int_equal(intern_put(&intern, "", 0, &number), 0);
    assert_int_equal(intern_find(&intern, "", 0), number);
    intern_deinit(&intern);
}

/* The last line with an id in a file counts, and leaves nothing of the one before. */
static void test_replaced(void **state)
{
    _cleanup_results_ struct results results = RESULTS_NULL;
    (void)state;
    assert_int_equal(add_score(&results, 0, "a", 0), 0);
    assert_int_equal(add_score(&results, 0, "b", 1), 0);
    assert_int_equal(add_score(&results, 0, "a", 1), 1);
    assert_int_equal(results.n, 2);
    assert_int_equal(results.replaced, 1);
    assert_true(results.cost_of_earlier == 0.5);
    assert_int_equal(results.worst.n, 0);
    assert_int_equal(results.populations[0].n, 2);
    _cleanup_json_ json_t *modes = failures_modes_json(&results);
    assert_int_equal(json_array_size(modes), 0);
    /* An error in its place takes the verdict away. */
    assert_int_equal(add(&results, 0,
                         "{\"type\":\"error\",\"id\":\"b\",\"code\":\"internal\","
                         "\"message\":\"m\"}"),
                     1);
    assert_int_equal(results.populations[0].n, 1);
    assert_int_equal(add_score(&results, 0, "b", 0.5), 1);
    _cleanup_json_ json_t *errors = failures_errors_json(&results);
    assert_int_equal(json_array_size(errors), 0);
    assert_int_equal(results.worst.n, 1);
}

static void assert_only_example(json_t *take_counted, const char *id)
{
    _cleanup_json_ json_t *counted = take_counted;
    assert_int_equal(json_array_size(counted), 1);
    const json_t *examples = json_object_get(json_array_get(counted, 0), "examples");
    assert_int_equal(json_array_size(examples), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(examples, 0), "id")), id);
}

/* A replaced result is not an example of a failure or of an error. */
static void test_examples_are_of_what_counts(void **state)
{
    _cleanup_results_ struct results results = RESULTS_NULL;
    static const char error[] = "{\"type\":\"error\",\"id\":\"%s\",\"code\":\"internal\"}";
    char text[128];
    (void)state;
    assert_int_equal(add_score(&results, 0, "a", 0), 0);
    assert_int_equal(add_score(&results, 0, "a", 1), 1);
    assert_int_equal(add_score(&results, 0, "b", 0), 0);
    assert_only_example(failures_modes_json(&results), "b");
    (void)snprintf(text, sizeof(text), error, "c");
    assert_int_equal(add(&results, 0, text), 0);
    assert_int_equal(add_score(&results, 0, "c", 1), 1);
    (void)snprintf(text, sizeof(text), error, "d");
    assert_int_equal(add(&results, 0, text), 0);
    assert_only_example(failures_errors_json(&results), "d");
}

/* Those that block come first, whatever their length. */
static void test_codes(void **state)
{
    _cleanup_results_ struct results results = RESULTS_NULL;
    (void)state;
    assert_int_equal(
        add(&results, 0,
            "{\"type\":\"result\",\"id\":\"a\",\"kind\":\"rubric\",\"score\":{\"passed\":false,"
            "\"score\":0,\"failure_modes\":[{\"code\":\"w\",\"severity\":\"warn\"},{\"code\":"
            "\"b\",\"severity\":\"block\"},{\"code\":\"long\",\"severity\":\"block\"}]}}"),
        0);
    _cleanup_free_ char *codes = failures_codes(&results, &results.items[0]);
    assert_non_null(codes);
    assert_string_equal(codes, "b, long, w");
}

/* The code that most results have comes first. */
static void test_codes_are_sorted(void **state)
{
    _cleanup_results_ struct results results = RESULTS_NULL;
    static const char *const codes[] = {"few", "most", "some", "most", "some", "most"};
    static const char *const expected[] = {"most", "some", "few"};
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_SIZE(codes); i++) {
        bool failed = i < ARRAY_SIZE(codes);
        const char *code = codes[i % ARRAY_SIZE(codes)];
        char text[256];
        (void)snprintf(text, sizeof(text),
                       failed ? "{\"type\":\"result\",\"id\":\"%zu\",\"score\":{\"passed\":false,"
                                "\"score\":0,\"failure_modes\":[{\"code\":\"%s\",\"severity\":"
                                "\"block\"}]}}"
                              : "{\"type\":\"error\",\"id\":\"%zu\",\"code\":\"%s\"}",
                       i, code);
        assert_int_equal(add(&results, 0, text), 0);
    }
    _cleanup_json_ json_t *modes = failures_modes_json(&results);
    _cleanup_json_ json_t *errors = failures_errors_json(&results);
    assert_int_equal(json_array_size(modes), 3);
    assert_int_equal(json_array_size(errors), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *mode = json_array_get(modes, i), *of_error = json_array_get(errors, i);
        assert_string_equal(json_string_value(json_object_get(mode, "code")), expected[i]);
        assert_string_equal(json_string_value(json_object_get(of_error, "code")), expected[i]);
        assert_int_equal(json_integer_value(json_object_get(mode, "count")), 3 - i);
    }
}

/* The same id in another file is another sample of the case; cases count once. */
static void test_samples(void **state)
{
    _cleanup_results_ struct results results = RESULTS_NULL;
    (void)state;
    assert_int_equal(add_score(&results, 0, "a", 1), 0);
    assert_int_equal(add_score(&results, 1, "a", 0), 0);
    assert_int_equal(add_score(&results, 1, "b", 0.25), 0);
    assert_int_equal(add(&results, 1,
                         "{\"type\":\"error\",\"id\":\"c\",\"code\":\"internal\","
                         "\"message\":\"m\"}"),
                     0);
    _cleanup_free_ struct case_sum *sums = cases_sum(&results);
    assert_int_equal(results.cases.n, 3);
    assert_true(fabs(case_score(&sums[0]) - 0.5) < NEAR && case_pass_rate(&sums[0]) == 0.5);
    assert_true(case_score(&sums[1]) == 0.25 && case_pass_rate(&sums[1]) == 0);
    assert_true(isnan(case_score(&sums[2])) && isnan(case_pass_rate(&sums[2])));
    assert_int_equal(sums[2].errors, 1);
}

/* Lines that do not tell samples apart are one each. */
static void test_numbered(void **state)
{
    _cleanup_results_ struct results results = RESULTS_NULL;
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(add(&results, 0, "{\"task_id\":1,\"passed\":true}"), 0);
    assert_int_equal(add(&results, 0, "{\"task_id\":2,\"sample\":1,\"passed\":true}"), 0);
    assert_int_equal(add(&results, 0, "{\"task_id\":2,\"sample\":1,\"passed\":false}"), 1);
    assert_int_equal(results.n, 4);
    assert_int_equal(results.cases.n, 2);
    _cleanup_json_ json_t *name = results_name(&results, 2);
    /* Where each case has one result, its name is enough. */
    _cleanup_results_ struct results alone = RESULTS_NULL;
    assert_int_equal(add(&alone, 0, "{\"task_id\":2,\"sample\":1,\"passed\":true}"), 0);
    _cleanup_json_ json_t *plain = results_name(&alone, 0);
    assert_string_equal(json_string_value(plain), "2");
    assert_string_equal(json_string_value(name), "1#3");
}

static void test_many_items(void **state)
{
    _cleanup_results_ struct results results = RESULTS_NULL;
    char id[16];
    (void)state;
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(id, sizeof(id), "case %d", i);
        assert_int_equal(add_score(&results, 0, id, (i % 100) / 100.0), 0);
    }
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(id, sizeof(id), "case %d", i);
        assert_int_equal(add_score(&results, 0, id, (i % 100) / 100.0), 1);
    }
    assert_int_equal(results.n, 3000);
    /* The thousand that are worst: 30 of each score, up to the 34th score. */
    worst_sort(&results.worst);
    assert_int_equal(results.worst.n, EXAMPLES_WORST_MAX);
    assert_true(results.worst.items[0].score == 0 && results.worst.items[0].item == 0);
    assert_true(results.worst.items[29].score == 0 && results.worst.items[29].item == 2900);
    assert_true(results.worst.items[30].score == 0.01);
    assert_true(results.worst.items[999].score == 0.33);
}

static void test_populations(void **state)
{
    _cleanup_results_ struct results results = RESULTS_NULL, other = RESULTS_NULL;
    (void)state;
    static const char first[] = "{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true},"
                                "\"isolation\":{\"class\":\"subprocess\",\"digest\":\"d1\"}}";
    static const char second[] = "{\"type\":\"result\",\"id\":\"b\",\"score\":{\"passed\":true},"
                                 "\"isolation\":{\"class\":\"subprocess\",\"digest\":\"d2\"}}";
    static const char shared[] = "{\"type\":\"result\",\"id\":\"c\",\"score\":{\"passed\":true},"
                                 "\"mode\":\"shared\","
                                 "\"isolation\":{\"class\":\"subprocess\",\"digest\":\"d1\"}}";
    assert_int_equal(add(&results, 0, first), 0);
    /* An error is of no population. */
    assert_int_equal(add(&results, 0, "{\"type\":\"error\",\"id\":\"e\",\"code\":\"internal\"}"),
                     0);
    assert_null(runreport_mixed(&results, NULL));
    assert_int_equal(add(&other, 0, second), 0);
    _cleanup_free_ char *against = runreport_mixed(&results, &other);
    assert_string_equal(against, "\n  1 subprocess d1, only in this run\n      a"
                                 "\nagainst\n  1 subprocess d2, only in the other run\n      b");
    assert_int_equal(add(&results, 0, shared), 0);
    _cleanup_free_ char *mixed = runreport_mixed(&results, NULL);
    assert_string_equal(mixed, "\n  1 subprocess d1\n      a"
                               "\n  1 subprocess d1, verdicts shared with the code\n      c");
}

static void test_estimates(void **state)
{
    const struct bootstrap_options options = {.resamples = 1000, .confidence = 0.95};
    struct estimate made;
    (void)state;
    const double mixed[] = {0, 1, 1, 0.5}, ones[] = {1, 1, 1}, halves[] = {0.5, 0.5};
    assert_int_equal(estimate(mixed, 4, ESTIMATE_SHARES, &options, &made), 0);
    assert_int_equal(made.method, ESTIMATE_BCA);
    assert_false(made.binary);
    assert_int_equal(estimate(ones, 3, ESTIMATE_SHARES, &options, &made), 0);
    assert_int_equal(made.method, ESTIMATE_WILSON);
    assert_true(made.interval.low > 0.43 && made.interval.low < 0.44 && made.interval.high == 1);
    _cleanup_json_ json_t *json = estimate_json(&made);
    const json_t *interval = json_object_get(json, "interval");
    assert_string_equal(json_string_value(json_object_get(interval, "why_not")),
                        "all values are equal");
    assert_true(json_is_null(json_object_get(json, "acceleration")));
    assert_int_equal(estimate(halves, 2, ESTIMATE_SHARES, &options, &made), 0);
    assert_int_equal(made.method, ESTIMATE_PERCENTILE);
    assert_int_equal(estimate(halves, 1, ESTIMATE_SHARES, &options, &made), 0);
    assert_int_equal(made.method, ESTIMATE_NONE);
    assert_string_equal(made.interval.why_not, "fewer than two values");
    assert_int_equal(estimate(NULL, 0, ESTIMATE_SHARES, &options, &made), 0);
    assert_int_equal(made.method, ESTIMATE_NONE);
    _cleanup_json_ json_t *none = estimate_json(&made);
    assert_true(json_is_null(json_object_get(none, "mean")));
}

static void test_latency(void **state)
{
    _cleanup_results_ struct results results = RESULTS_NULL;
    char id[16];
    (void)state;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(id, sizeof(id), "%d", i);
        assert_int_equal(add_score(&results, 0, id, i / 100.0), 0);
    }
    _cleanup_json_ json_t *latency = latency_json(&results);
    const json_t *wall = json_object_get(latency, "wall_clock");
    assert_true(json_is_null(json_object_get(latency, "queue")));
    assert_int_equal(json_integer_value(json_object_get(wall, "p50")), 50);
    assert_int_equal(json_integer_value(json_object_get(wall, "p99")), 99);
    assert_int_equal(json_integer_value(json_object_get(wall, "max")), 100);
    json_int_t total = 0;
    const json_t *bins = json_object_get(wall, "histogram");
    for (size_t i = 0; i < json_array_size(bins); i++)
        total += json_integer_value(json_object_get(json_array_get(bins, i), "count"));
    assert_int_equal(total, 100);
}

static void test_times(void **state)
{
    char text[FACTS_TIME_MAX];
    (void)state;
    assert_int_equal(facts_parse_time("2026-11-21T17:55:01.123Z"), 1795283701123);
    assert_int_equal(facts_parse_time("2026-11-21T17:55:01Z"), 1795283701000);
    assert_int_equal(facts_parse_time("yesterday"), 0);
    assert_string_equal(facts_print_time(1795283701123, text), "2026-11-21T17:55:01Z");
}

/* A line that does not know when it ended says nothing of when the run began. */
static void test_unknown_times(void **state)
{
    _cleanup_results_ struct results results = RESULTS_NULL;
    (void)state;
    assert_int_equal(add_score(&results, 0, "a", 1), 0);
    assert_int_equal(results.facts.started_ms, 0);
    assert_int_equal(results.facts.finished_ms, 0);
    assert_int_equal(add(&results, 0,
                         "{\"type\":\"result\",\"id\":\"b\",\"score\":{\"passed\":true,"
                         "\"score\":1},\"usage\":{\"wall_clock_ms\":100},"
                         "\"run\":{\"finished_at\":\"2026-11-21T17:55:01.123Z\"}}"),
                     0);
    assert_int_equal(add_score(&results, 0, "c", 1), 0);
    assert_int_equal(results.facts.started_ms, 1795283701023);
    assert_int_equal(results.facts.finished_ms, 1795283701123);
}

static void test_case_digest(void **state)
{
    static const char text[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct case_digest digest = {.bytes = {0}}, other = {.bytes = {1}};
    const struct case_digest unknown = {.bytes = {0}};
    char printed[CASE_DIGEST_HEX];
    (void)state;
    assert_false(case_digest_is_known(&digest));
    assert_false(case_digest_read(NULL, &digest));
    assert_false(case_digest_read("0123", &digest));
    assert_false(case_digest_read("g", &digest));
    assert_false(case_digest_is_known(&digest)); /* a failure leaves it alone */
    assert_true(case_digest_read(text, &digest));
    assert_string_equal(case_digest_print(&digest, printed), text);
    assert_true(case_digest_differs(&digest, &other));
    assert_false(case_digest_differs(&digest, &digest));
    assert_false(case_digest_differs(&digest, &unknown));
    assert_false(case_digest_differs(&unknown, &digest));
}

/* The rows of the table of forms: what they are chosen by, and what messages say of them. */
static void test_formats(void **state)
{
    static const struct {
        const char *path, *name;
    } known[] = {
        {"a.txt", "text"},  {"a.json", "json"},     {"b/c.xml", "junit"},
        {"a.html", "html"}, {"a.json.HTM", "html"}, {"summary.md", "markdown"},
    };
    static const char *const others[] = {"a", "a.", "a.ht", "a.htmlx", "a.html,", ".", "a., "};
    char options[FORMATS_OPTIONS_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        assert_string_equal(formats_of_path(known[i].path)->name, known[i].name);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_null(formats_of_path(others[i]));
    assert_false(report_formats[0].has_option);
    assert_string_equal(formats_options(options), "--json, --junit, --html and --markdown");
    assert_string_equal(FORMAT_ENDINGS, ".txt, .json, .xml, .html, .htm, .md");
}

static void assert_markup(const char *text, size_t n, const char *expected)
{
    _cleanup_free_ char *made = NULL;
    size_t length;
    FILE *out = open_memstream(&made, &length);
    markup_put(out, text, n);
    (void)fclose(out);
    assert_string_equal(made, expected);
}

static void test_markup(void **state)
{
    (void)state;
    assert_markup("</script>\"'&", 12, "&lt;/script&gt;&quot;&#39;&amp;");
    assert_markup("a\0b\x1b\n\x7f", 6, "a\\x00b\\x1b\\n\\x7f");
    assert_markup("\xFF\xEF\xBF\xBE\xC3\xA9", 6, "\xEF\xBF\xBD\xEF\xBF\xBD\xC3\xA9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intern),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_examples_are_of_what_counts),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_codes_are_sorted),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_numbered),
        cmocka_unit_test(test_many_items),
        cmocka_unit_test(test_populations),
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_latency),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_unknown_times),
        cmocka_unit_test(test_case_digest),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_markup),
    };
    return cmocka_run_group_tests_name("report_results", tests, NULL, NULL);
}
