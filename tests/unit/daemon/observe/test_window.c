/* SPDX-License-Identifier: MIT */
/* Tests rates and quantiles over windows: the start, the ring's wrap, idle stretches, a clock that
 * steps back, and the error that the header promises. */
#include "daemon/observe/window.h"
#include "proto/util.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define START (12345 * NS_PER_S + 678)
#define MINUTE (60 * NS_PER_S)
#define QUARTER WINDOW_SPAN_MAX_NS

static int setup(void **state)
{
    struct window *window = calloc(1, sizeof(*window));
    assert_non_null(window);
    window_init(window, START);
    *state = window;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static struct window_summary summarise(const struct window *window, uint64_t window_ns,
                                       uint64_t now_ns)
{
    struct window_summary summary;
    window_summarise(window, window_ns, now_ns, &summary);
    return summary;
}

static uint64_t passed(const struct window *window, uint64_t window_ns, uint64_t now_ns)
{
    return summarise(window, window_ns, now_ns).ends[WINDOW_PASSED];
}

static void nothing_has_happened(void **state)
{
    struct window_summary summary = summarise(*state, MINUTE, START);
    assert_int_equal(summary.span_ns, 0);
    for (size_t i = 0; i < WINDOW_ENDS; i++)
        assert_int_equal(summary.ends[i], 0);
    for (size_t i = 0; i < WINDOW_LATENCIES; i++) {
        assert_int_equal(summary.latencies[i].count, 0);
        for (size_t k = 0; k < WINDOW_QUANTILES; k++)
            assert_int_equal(summary.latencies[i].quantiles_ns[k], 0);
    }
    assert_true(window_rate(0, 0) == 0);
}

/* No window reaches back beyond the start. */
static void a_young_daemon_is_measured_by_its_uptime(void **state)
{
    struct window *window = *state;
    for (unsigned i = 0; i < 30; i++)
        window_count(window, WINDOW_PASSED, START + i * NS_PER_S);
    uint64_t now = START + 30 * NS_PER_S;
    static const uint64_t windows[] = {MINUTE, 5 * MINUTE, QUARTER};
    for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
        struct window_summary summary = summarise(window, windows[i], now);
        assert_int_equal(summary.span_ns, 30 * NS_PER_S);
        assert_true(window_rate(summary.ends[WINDOW_PASSED], summary.span_ns) == 1.0);
    }
}

static void the_first_millisecond_is_no_rate(void **state)
{
    struct window *window = *state;
    window_count(window, WINDOW_PASSED, START + NS_PER_MS);
    struct window_summary summary = summarise(window, MINUTE, START + NS_PER_MS);
    assert_int_equal(summary.span_ns, NS_PER_MS);
    assert_true(window_rate(summary.ends[WINDOW_PASSED], summary.span_ns) == 1.0);
}

static void ends_are_told_apart(void **state)
{
    struct window *window = *state;
    for (unsigned end = 0; end < WINDOW_ENDS; end++)
        for (unsigned i = 0; i <= end; i++)
            window_count(window, end, START);
    struct window_summary summary = summarise(window, MINUTE, START);
    assert_int_equal(summary.ends[WINDOW_PASSED], 1);
    assert_int_equal(summary.ends[WINDOW_FAILED], 2);
    assert_int_equal(summary.ends[WINDOW_ERRORS], 3);
}

/* One job a second for an hour: at any moment each window holds exactly the jobs of its span. */
static void a_steady_rate_through_many_turns_of_the_ring(void **state)
{
    struct window *window = *state;
    for (uint64_t s = 0; s < 3600; s++) {
        uint64_t now = START + s * NS_PER_S;
        window_count(window, WINDOW_PASSED, now);
        static const uint64_t windows[] = {60, 300, 900};
        for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
            struct window_summary summary = summarise(window, windows[i] * NS_PER_S, now);
            uint64_t span_s = summary.span_ns / NS_PER_S;
            assert_int_equal(summary.ends[WINDOW_PASSED], span_s + 1); /* both ends are included */
            assert_true(span_s >= MIN(s, windows[i]) && span_s <= MIN(s, windows[i] + 9));
        }
    }
}

static void what_is_old_leaves_its_window(void **state)
{
    struct window *window = *state;
    window_count(window, WINDOW_PASSED, START);
    assert_int_equal(passed(window, MINUTE, START + 69 * NS_PER_S), 1);
    assert_int_equal(passed(window, MINUTE, START + 70 * NS_PER_S), 0);
    assert_int_equal(passed(window, 5 * MINUTE, START + 309 * NS_PER_S), 1);
    assert_int_equal(passed(window, 5 * MINUTE, START + 310 * NS_PER_S), 0);
    assert_int_equal(passed(window, QUARTER, START + 909 * NS_PER_S), 1);
    assert_int_equal(passed(window, QUARTER, START + 910 * NS_PER_S), 0);
}

/* Nothing clears the ring while nothing happens; outdated slices do not count as new. */
static void idle_stretches(void **state)
{
    static const uint64_t stretches_s[] = {15, 900, 910, 920, 86400, 91 * 10 * 1000};
    struct window *window = *state;
    uint64_t now = START;
    for (size_t i = 0; i < ARRAY_SIZE(stretches_s); i++) {
        for (unsigned k = 0; k < 5; k++)
            window_count(window, WINDOW_PASSED, now);
        window_observe(window, WINDOW_WALL_CLOCK, NS_PER_S, now);
        now += stretches_s[i] * NS_PER_S;
        uint64_t expected = stretches_s[i] >= 910 ? 0 : 5;
        assert_int_equal(passed(window, QUARTER, now), expected);
        assert_int_equal(summarise(window, QUARTER, now).latencies[WINDOW_WALL_CLOCK].count,
                         expected / 5);
    }
    window_count(window, WINDOW_PASSED, now);
    assert_int_equal(passed(window, QUARTER, now), 1);
    struct window_summary summary = summarise(window, MINUTE, now);
    assert_in_range(summary.span_ns, MINUTE, MINUTE + WINDOW_SLICE_NS);
}

static void a_clock_that_steps_back_stands_still(void **state)
{
    struct window *window = *state;
    uint64_t late = START + 5000 * NS_PER_S;
    window_count(window, WINDOW_PASSED, late);
    window_count(window, WINDOW_PASSED, START + NS_PER_S);
    window_count(window, WINDOW_PASSED, START - NS_PER_S); /* even before the start */
    window_count(window, WINDOW_PASSED, 0);
    static const uint64_t times[] = {0, START - 1, START, START + 2000 * NS_PER_S};
    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        struct window_summary summary = summarise(window, MINUTE, times[i]);
        assert_int_equal(summary.ends[WINDOW_PASSED], 4);
        assert_in_range(summary.span_ns, MINUTE, MINUTE + WINDOW_SLICE_NS);
    }
    assert_int_equal(passed(window, MINUTE, late), 4);
    assert_int_equal(passed(window, MINUTE, late + 70 * NS_PER_S), 0);
}

/* --- quantiles ----------------------------------------------------------------------------- */

/* The quantiles of a single value. */
static uint64_t seen_as(uint64_t value_ns)
{
    static struct window window;
    memset(&window, 0, sizeof(window)); /* a literal would be built on the stack */
    window_observe(&window, WINDOW_QUEUE_WAIT, value_ns, 0);
    struct window_summary summary = summarise(&window, MINUTE, 0);
    assert_int_equal(summary.latencies[WINDOW_QUEUE_WAIT].count, 1);
    assert_int_equal(summary.latencies[WINDOW_WALL_CLOCK].count, 0);
    for (size_t i = 1; i < WINDOW_QUANTILES; i++)
        assert_int_equal(summary.latencies[WINDOW_QUEUE_WAIT].quantiles_ns[i],
                         summary.latencies[WINDOW_QUEUE_WAIT].quantiles_ns[0]);
    return summary.latencies[WINDOW_QUEUE_WAIT].quantiles_ns[0];
}

static void the_error_is_what_the_header_says(void **state)
{
    (void)state;
    double worst = 0;
    for (double value = 8000; value < (double)WINDOW_VALUE_MAX_NS; value *= 1.003) {
        double seen = (double)seen_as((uint64_t)value);
        worst = fmax(worst, fabs(seen - value) / value);
    }
    assert_true(worst <= WINDOW_ERROR);
    assert_true(worst > WINDOW_ERROR / 2); /* the steps were fine enough to see it */
    for (uint64_t ns = 0; ns < 8000; ns += 7) {
        int64_t off = (int64_t)seen_as(ns) - (int64_t)ns;
        assert_true(off >= -500 && off <= 500);
    }
}

static void at_the_edges_of_buckets(void **state)
{
    (void)state;
    for (unsigned bit = 3; bit < WINDOW_VALUE_BITS; bit++) {
        uint64_t edge = UINT64_C(1000) << bit;
        assert_true(seen_as(edge - 1) < edge && seen_as(edge) > edge);
    }
    uint64_t most = seen_as(WINDOW_VALUE_MAX_NS - 1);
    assert_true(most < WINDOW_VALUE_MAX_NS);
    assert_int_equal(seen_as(WINDOW_VALUE_MAX_NS), most);
    assert_int_equal(seen_as(UINT64_MAX), most);
}

static void about(uint64_t got_ns, double expected_ms)
{
    double got_ms = (double)got_ns / NS_PER_MS;
    if (fabs(got_ms - expected_ms) > WINDOW_ERROR * expected_ms)
        fail_msg("got %g ms, expected about %g", got_ms, expected_ms);
}

static void quantiles_by_nearest_rank(void **state)
{
    struct window *window = *state;
    /* 1 to 100 ms, out of order and over several slices */
    for (unsigned i = 0; i < 100; i++)
        window_observe(window, WINDOW_WALL_CLOCK, ((i * 37) % 100 + 1) * NS_PER_MS,
                       START + i * NS_PER_S / 2);
    struct window_summary summary = summarise(window, MINUTE, START + 50 * NS_PER_S);
    const uint64_t *quantiles = summary.latencies[WINDOW_WALL_CLOCK].quantiles_ns;
    assert_int_equal(summary.latencies[WINDOW_WALL_CLOCK].count, 100);
    about(quantiles[0], 50);
    about(quantiles[1], 90);
    about(quantiles[2], 99);
}

/* One slow job in a hundred is not the 99th percentile, two are. */
static void a_rare_slow_job(void **state)
{
    struct window *window = *state;
    for (unsigned i = 0; i < 99; i++)
        window_observe(window, WINDOW_WALL_CLOCK, NS_PER_MS, START);
    window_observe(window, WINDOW_WALL_CLOCK, NS_PER_S, START);
    about(summarise(window, MINUTE, START).latencies[WINDOW_WALL_CLOCK].quantiles_ns[2], 1);
    window_observe(window, WINDOW_WALL_CLOCK, NS_PER_S, START);
    about(summarise(window, MINUTE, START).latencies[WINDOW_WALL_CLOCK].quantiles_ns[2], 1000);
}

static void old_latencies_leave_their_window(void **state)
{
    struct window *window = *state;
    window_observe(window, WINDOW_WALL_CLOCK, 100 * NS_PER_MS, START);
    uint64_t later = START + 100 * NS_PER_S;
    window_observe(window, WINDOW_WALL_CLOCK, NS_PER_MS, later);
    about(summarise(window, MINUTE, later).latencies[WINDOW_WALL_CLOCK].quantiles_ns[2], 1);
    about(summarise(window, 5 * MINUTE, later).latencies[WINDOW_WALL_CLOCK].quantiles_ns[2], 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_has_happened, setup, teardown),
        cmocka_unit_test_setup_teardown(a_young_daemon_is_measured_by_its_uptime, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_millisecond_is_no_rate, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_are_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(a_steady_rate_through_many_turns_of_the_ring, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_old_leaves_its_window, setup, teardown),
        cmocka_unit_test_setup_teardown(idle_stretches, setup, teardown),
        cmocka_unit_test_setup_teardown(a_clock_that_steps_back_stands_still, setup, teardown),
        cmocka_unit_test(the_error_is_what_the_header_says),
        cmocka_unit_test(at_the_edges_of_buckets),
        cmocka_unit_test_setup_teardown(quantiles_by_nearest_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rare_slow_job, setup, teardown),
        cmocka_unit_test_setup_teardown(old_latencies_leave_their_window, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
