/* SPDX-License-Identifier: MIT */
/* Tests what is counted where, and how status shows it. */
#include "daemon/base/clock.h"
#include "daemon/observe/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define START (1000 * NS_PER_S)

static int setup(void **state)
{
    struct stats *stats = calloc(1, sizeof(*stats));
    assert_non_null(stats);
    assert_int_equal(stats_init(stats, START), 0);
    *state = stats;
    return 0;
}

static int teardown(void **state)
{
    stats_deinit(*state);
    stats_deinit(*state); /* a second call has nothing to free */
    free(*state);
    return 0;
}

/* Asserts that VALUE (taken) equals the JSON text EXPECTED, which has single quotes for double
 * ones. */
static void expect_json(json_t *value, const char *expected)
{
    char text[1024];
    (void)snprintf(text, sizeof(text), "%s", expected);
    for (char *p = text; (p = strchr(p, '\'')); p++)
        *p = '"';
    _cleanup_json_ json_t *wanted = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(wanted);
    if (!json_equal(value, wanted)) {
        _cleanup_free_ char *got = json_dumps(value, JSON_ENCODE_ANY);
        fail_msg("got %s, expected %s", got, text);
    }
    json_decref(value);
}

static void expect_kind(const struct stats *stats, const char *kind, const char *expected)
{
    _cleanup_json_ json_t *kinds = stats_kinds_json(stats, START);
    json_t *of = json_object_get(kinds, kind);
    assert_int_equal(json_object_del(of, "recent"), 0);
    expect_json(json_incref(of), expected);
}

#define NOTHING_YET                                                                   \
    "{'submitted': 0, 'passed': 0, 'failed': 0, 'errors': {}, 'limits_exceeded': {}," \
    " 'dropped': 0}"

static void nothing_has_happened(void **state)
{
    const struct stats *stats = *state;
    expect_json(stats_counters_json(stats),
                "{'submitted': 0, 'results': 0, 'passed': 0, 'failed': 0, 'errors': {}}");
    expect_json(stats_failures_json(stats, START), "[]");
    expect_kind(stats, "rubric", NOTHING_YET);
    expect_kind(stats, "sandbox", NOTHING_YET);
    expect_kind(stats, "code_exec", NOTHING_YET);
}

static void count_some(struct stats *stats)
{
    const struct stats_result good = {true, LIMIT_NONE, 20 * NS_PER_MS},
                              slow = {false, LIMIT_WALL_CLOCK, 3 * NS_PER_S},
                              not_run = {false, LIMIT_NONE, 0};
    for (unsigned i = 0; i < 6; i++)
        stats_count_submitted(stats, JOB_RUBRIC);
    stats_count_wait(stats, JOB_RUBRIC, 5 * NS_PER_MS, START);
    stats_count_result(stats, JOB_RUBRIC, &good, START);
    stats_count_result(stats, JOB_RUBRIC, &slow, START);
    stats_count_result(stats, JOB_RUBRIC, &not_run, START);
    stats_count_error(stats, JOB_RUBRIC, ERROR_SANDBOX_FAILED, START);
    stats_count_error(stats, JOB_RUBRIC, ERROR_BAD_REQUEST, START);
    stats_count_dropped(stats, JOB_RUBRIC);
    stats_count_submitted(stats, JOB_CODE_EXEC);
    stats_count_error(stats, JOB_CODE_EXEC, ERROR_SANDBOX_FAILED, START);
}

static void kinds_are_told_apart_and_summed(void **state)
{
    struct stats *stats = *state;
    count_some(stats);
    expect_json(stats_counters_json(stats),
                "{'submitted': 7, 'results': 3, 'passed': 1, 'failed': 2,"
                " 'errors': {'sandbox_failed': 2, 'bad_request': 1}}");
    expect_kind(stats, "rubric",
                "{'submitted': 6, 'passed': 1, 'failed': 2,"
                " 'errors': {'sandbox_failed': 1, 'bad_request': 1},"
                " 'limits_exceeded': {'wall_clock': 1}, 'dropped': 1}");
    expect_kind(stats, "sandbox", NOTHING_YET);
    expect_kind(stats, "code_exec",
                "{'submitted': 1, 'passed': 0, 'failed': 0, 'errors': {'sandbox_failed': 1},"
                " 'limits_exceeded': {}, 'dropped': 0}");
}

static void expect_recent(const struct stats *stats, const char *kind, size_t index,
                          uint64_t now_ns, const char *expected)
{
    _cleanup_json_ json_t *kinds = stats_kinds_json(stats, now_ns);
    const json_t *recent = json_object_get(json_object_get(kinds, kind), "recent");
    assert_int_equal(json_array_size(recent), 3);
    expect_json(json_incref(json_array_get(recent, index)), expected);
}

/* The larger of two values is the 90th percentile. A job that was not run has no latency. */
static void rates_and_quantiles(void **state)
{
    struct stats *stats = *state;
    count_some(stats);
    uint64_t now = START + 10 * NS_PER_S, later = START + 200 * NS_PER_S;
    expect_recent(stats, "rubric", 0, now,
                  "{'seconds': 60, 'span_ms': 10000, 'passed': 1, 'failed': 2, 'errors': 2,"
                  " 'per_second': 0.5,"
                  " 'wall_clock_ms': {'p50': 19.456, 'p90': 3014.656, 'p99': 3014.656},"
                  " 'queue_ms': {'p50': 4.864, 'p90': 4.864, 'p99': 4.864}}");
    expect_recent(stats, "rubric", 0, later,
                  "{'seconds': 60, 'span_ms': 60000, 'passed': 0, 'failed': 0, 'errors': 0,"
                  " 'per_second': 0.0, 'wall_clock_ms': null, 'queue_ms': null}");
    expect_recent(stats, "code_exec", 1, later,
                  "{'seconds': 300, 'span_ms': 200000, 'passed': 0, 'failed': 0, 'errors': 1,"
                  " 'per_second': 0.005, 'wall_clock_ms': null, 'queue_ms': null}");
    expect_recent(stats, "sandbox", 2, later,
                  "{'seconds': 900, 'span_ms': 200000, 'passed': 0, 'failed': 0, 'errors': 0,"
                  " 'per_second': 0.0, 'wall_clock_ms': null, 'queue_ms': null}");
}

/* --- histograms ---------------------------------------------------------------------------- */

static void bounds_ascend(void **state)
{
    (void)state;
    for (size_t i = 1; i < HISTOGRAM_BOUNDS; i++)
        assert_true(histogram_bounds_ms[i - 1] < histogram_bounds_ms[i]);
}

static void a_bound_is_part_of_its_bucket(void **state)
{
    struct histogram histogram = {.count = 0};
    uint64_t sum = 0;
    (void)state;
    for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
        uint64_t bound = histogram_bounds_ms[i] * NS_PER_MS;
        histogram_add(&histogram, bound);
        histogram_add(&histogram, bound + 1);
        sum += 2 * bound + 1;
    }
    assert_int_equal(histogram.of[0], 1);
    for (size_t i = 1; i < HISTOGRAM_BOUNDS; i++)
        assert_int_equal(histogram.of[i], 2);
    assert_int_equal(histogram.of[HISTOGRAM_BOUNDS], 1);
    assert_int_equal(histogram.count, 2 * HISTOGRAM_BOUNDS);
    assert_int_equal(histogram.sum_ns, sum);
}

static void latencies_go_to_their_histograms(void **state)
{
    struct stats *stats = *state;
    count_some(stats);
    const struct stats_kind *rubric = &stats->kinds[JOB_RUBRIC];
    assert_int_equal(rubric->wall_clock.count, 2);
    assert_int_equal(rubric->wall_clock.sum_ns, 3020 * NS_PER_MS);
    assert_int_equal(rubric->queue_wait.count, 1);
    assert_int_equal(rubric->queue_wait.sum_ns, 5 * NS_PER_MS);
    assert_int_equal(stats->kinds[JOB_CODE_EXEC].wall_clock.count, 0);
}

/* --- the last failures --------------------------------------------------------------------- */

static void the_last_failures_the_latest_first(void **state)
{
    struct stats *stats = *state;
    char task_class[] = "sql", id[] = "the-id";
    struct job_spec spec = {.kind = JOB_RUBRIC, .rubric.task_class = task_class};
    struct job job = {.spec = &spec, .id = {id, strlen(id)}};
    for (job.number = 1; job.number <= STATS_FAILURES + 3; job.number++)
        stats_add_failure(stats, &job, "rubric.timeout");
    _cleanup_json_ json_t *list = stats_failures_json(stats, clock_now_ns());
    assert_int_equal(json_array_size(list), STATS_FAILURES);
    for (size_t i = 0; i < STATS_FAILURES; i++) {
        const json_t *failure = json_array_get(list, i);
        assert_int_equal(json_integer_value(json_object_get(failure, "job_no")),
                         STATS_FAILURES + 3 - i);
        assert_string_equal(json_string_value(json_object_get(failure, "id")), "the-id");
        assert_string_equal(json_string_value(json_object_get(failure, "label")), "sql");
        assert_string_equal(json_string_value(json_object_get(failure, "what")), "rubric.timeout");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_has_happened, setup, teardown),
        cmocka_unit_test_setup_teardown(kinds_are_told_apart_and_summed, setup, teardown),
        cmocka_unit_test_setup_teardown(rates_and_quantiles, setup, teardown),
        cmocka_unit_test(bounds_ascend),
        cmocka_unit_test(a_bound_is_part_of_its_bucket),
        cmocka_unit_test_setup_teardown(latencies_go_to_their_histograms, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_failures_the_latest_first, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
