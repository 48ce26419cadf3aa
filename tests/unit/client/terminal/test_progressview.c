/* SPDX-License-Identifier: MIT */
#include "client/terminal/progressview.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct progress_view some = {
    .done = 1234,
    .total = 5000,
    .passed = 1200,
    .failed = 30,
    .errors = 4,
    .in_flight = 256,
    .rate = 210.4,
    .cost_usd = 1.25,
    .elapsed_ms = 6000,
    .slow = {{"job-17", 12300}, {"job-3", 8100}},
    .n_slow = 2,
};

static void assert_rows(const struct progress_view *view, size_t columns, const char *first,
                        const char *second, const char *third)
{
    struct progress_rows rows = {.n = 0};
    const char *const expected[] = {first, second, third};
    progress_render(view, columns, &rows);
    for (size_t i = 0; i < MIN(rows.n, (size_t)PROGRESS_ROWS); i++) {
        assert_non_null(expected[i]);
        assert_string_equal(rows.text[i], expected[i]);
    }
    assert_true(rows.n == 3 || expected[rows.n] == NULL);
}

static void test_widths(void **state)
{
    (void)state;
    assert_rows(&some, 79, "[======>                    ] 1234/5000 24%  210/s  ETA 17.8 s",
                "1200 passed, 30 failed, 4 errors  256 in flight  $1.2500",
                "slow: job-17 12.3 s, job-3 8.1 s");
    assert_rows(&some, 39, "1234/5000 24%  210/s  ETA 17.8 s", "1200 passed, 30 failed, 4 errors",
                "slow: job-17 12.3 s, job-3 8.1 s");
    assert_rows(&some, 31, "1234/5000 24%  210/s  ETA 17.8 ", "1200 ok 30 bad 4 err  $1.2500",
                "slow: job-17 12.3 s");
    assert_rows(&some, 10, "1234/5000 ", "1200 ok 30", "slow: job-");
}

static void test_never_wider(void **state)
{
    (void)state;
    struct progress_view view = some;
    struct progress_rows rows;
    view.slow[0].id = "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\x1b[2J\n\xc2\x9b"
                      "a-very-long-name-of-a-job-that-goes-on-and-on";
    view.state = "running starved jobs alone";
    view.waiting = 7;
    for (size_t columns = 1; columns < 300; columns++) {
        progress_render(&view, columns, &rows);
        for (size_t i = 0; i < rows.n; i++) {
            assert_in_range(rows.columns[i], 1, columns);
            for (const char *p = rows.text[i]; *p; p++)
                assert_true((unsigned char)*p >= 0x20 && *p != 0x7F);
        }
    }
}

static void test_unknown_total(void **state)
{
    (void)state;
    struct progress_view view = {.done = 7, .rate = 0.25, .elapsed_ms = 28000};
    assert_rows(&view, 79, "7 done  0.2/s  28.0 s", "0 passed, 0 failed, 0 errors  0 in flight",
                NULL);
    view.total = 100;
    view.about = true;
    assert_rows(&view, 39, "7/~100 7%  0.2/s  ETA 6 min 12 s", "0 passed, 0 failed, 0 errors",
                NULL);
    /* An estimate may be too low. */
    view.total = 5;
    assert_rows(&view, 39, "[====================] 7/~7 100%  0.2/s",
                "0 passed, 0 failed, 0 errors", NULL);
    view.rate = 0;
    view.total = 100;
    assert_rows(&view, 20, "7/~100 7%  0.0/s", "0 ok 0 bad 0 err", NULL);
}

static void test_plain(void **state)
{
    (void)state;
    char line[256];
    progress_render_plain(&some, line, sizeof(line));
    assert_string_equal(line, "1234/5000 24%: 1200 passed, 30 failed, 4 errors; 256 in flight, "
                              "210.4/s  ETA 17.8 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_never_wider),
        cmocka_unit_test(test_unknown_total),
        cmocka_unit_test(test_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
