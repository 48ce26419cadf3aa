/* SPDX-License-Identifier: MIT */
/* Tests the text of metrics byte for byte. The integration tests read all of it with Prometheus'
 * own parser. */
#include "daemon/base/clock.h"
#include "daemon/observe/exposition.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct exposition e;
    char *text;
    size_t length;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->e.out = open_memstream(&f->text, &f->length);
    assert_non_null(f->e.out);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    (void)fclose(f->e.out);
    free(f->text);
    free(f);
    return 0;
}

static void expect(struct fixture *f, const char *expected)
{
    assert_int_equal(fflush(f->e.out), 0);
    assert_string_equal(f->text, expected);
}

static void a_family_of_each_type(void **state)
{
    struct fixture *f = *state;
    const struct exposition_label label[] = {{"kind", "rubric"}}, two[] = {{"a", "1"}, {"b", "2"}},
                                  version[] = {{"version", "0.1"}}, on[] = {{"s", "on"}};
    exposition_family(&f->e, "jobs", EXPOSITION_COUNTER, NULL, "Jobs.");
    exposition_integer(&f->e, label, 1, UINT64_MAX);
    exposition_family(&f->e, "used_bytes", EXPOSITION_GAUGE, "bytes", "Used.");
    exposition_integer(&f->e, NULL, 0, 0);
    exposition_integer(&f->e, two, 2, 3);
    exposition_family(&f->e, "build", EXPOSITION_INFO, NULL, "What.");
    exposition_integer(&f->e, version, 1, 1);
    exposition_family(&f->e, "s", EXPOSITION_STATESET, NULL, "State.");
    exposition_integer(&f->e, on, 1, 1);
    exposition_end(&f->e);
    expect(f, "# TYPE jobs counter\n"
              "# HELP jobs Jobs.\n"
              "jobs_total{kind=\"rubric\"} 18446744073709551615\n"
              "# TYPE used_bytes gauge\n"
              "# UNIT used_bytes bytes\n"
              "# HELP used_bytes Used.\n"
              "used_bytes 0\n"
              "used_bytes{a=\"1\",b=\"2\"} 3\n"
              "# TYPE build info\n"
              "# HELP build What.\n"
              "build_info{version=\"0.1\"} 1\n"
              "# TYPE s stateset\n"
              "# HELP s State.\n"
              "s{s=\"on\"} 1\n"
              "# EOF\n");
}

static void the_old_format(void **state)
{
    struct fixture *f = *state;
    const struct exposition_label version[] = {{"version", "0.1"}}, on[] = {{"s", "on"}};
    f->e.format = EXPOSITION_PROMETHEUS;
    exposition_family(&f->e, "spent_seconds", EXPOSITION_COUNTER, "seconds", "Spent.");
    exposition_seconds(&f->e, NULL, 0, 2 * NS_PER_S);
    exposition_family(&f->e, "build", EXPOSITION_INFO, NULL, "What.");
    exposition_integer(&f->e, version, 1, 1);
    exposition_family(&f->e, "s", EXPOSITION_STATESET, NULL, "State.");
    exposition_integer(&f->e, on, 1, 1);
    exposition_end(&f->e);
    expect(f, "# TYPE spent_seconds_total counter\n"
              "# HELP spent_seconds_total Spent.\n"
              "spent_seconds_total 2.000000000\n"
              "# TYPE build_info gauge\n"
              "# HELP build_info What.\n"
              "build_info{version=\"0.1\"} 1\n"
              "# TYPE s gauge\n"
              "# HELP s State.\n"
              "s{s=\"on\"} 1\n");
}

static void labels_are_escaped(void **state)
{
    struct fixture *f = *state;
    const struct exposition_label odd[] = {{"a", "x\"y\\z\nw\xc3\xa4{}="}, {"b", ""}};
    exposition_family(&f->e, "m", EXPOSITION_GAUGE, NULL, "M.");
    exposition_integer(&f->e, odd, 2, 1);
    expect(f, "# TYPE m gauge\n# HELP m M.\nm{a=\"x\\\"y\\\\z\\nw\xc3\xa4{}=\",b=\"\"} 1\n");
}

static void seconds_are_exact(void **state)
{
    struct fixture *f = *state;
    exposition_family(&f->e, "t_seconds", EXPOSITION_GAUGE, "seconds", "T.");
    exposition_seconds(&f->e, NULL, 0, 1);
    exposition_seconds(&f->e, NULL, 0, 1795281898155844832);
    expect(f, "# TYPE t_seconds gauge\n# UNIT t_seconds seconds\n# HELP t_seconds T.\n"
              "t_seconds 0.000000001\nt_seconds 1795281898.155844832\n");
}

/* Buckets are cumulative, their bounds canonical floats. */
static void a_histogram(void **state)
{
    struct fixture *f = *state;
    struct histogram histogram = {.count = 0};
    const struct exposition_label label[] = {{"k", "v"}};
    histogram_add(&histogram, NS_PER_MS);        /* into the first */
    histogram_add(&histogram, NS_PER_MS + 1);    /* into the second */
    histogram_add(&histogram, 900 * NS_PER_MS);  /* up to 1.0 */
    histogram_add(&histogram, 10000 * NS_PER_S); /* above all */
    exposition_family(&f->e, "h_seconds", EXPOSITION_HISTOGRAM, "seconds", "H.");
    exposition_histogram(&f->e, label, 1, &histogram);
    expect(f, "# TYPE h_seconds histogram\n# UNIT h_seconds seconds\n# HELP h_seconds H.\n"
              "h_seconds_bucket{k=\"v\",le=\"0.001\"} 1\n"
              "h_seconds_bucket{k=\"v\",le=\"0.002\"} 2\n"
              "h_seconds_bucket{k=\"v\",le=\"0.005\"} 2\n"
              "h_seconds_bucket{k=\"v\",le=\"0.01\"} 2\n"
              "h_seconds_bucket{k=\"v\",le=\"0.02\"} 2\n"
              "h_seconds_bucket{k=\"v\",le=\"0.05\"} 2\n"
              "h_seconds_bucket{k=\"v\",le=\"0.1\"} 2\n"
              "h_seconds_bucket{k=\"v\",le=\"0.2\"} 2\n"
              "h_seconds_bucket{k=\"v\",le=\"0.5\"} 2\n"
              "h_seconds_bucket{k=\"v\",le=\"1.0\"} 3\n"
              "h_seconds_bucket{k=\"v\",le=\"2.0\"} 3\n"
              "h_seconds_bucket{k=\"v\",le=\"5.0\"} 3\n"
              "h_seconds_bucket{k=\"v\",le=\"10.0\"} 3\n"
              "h_seconds_bucket{k=\"v\",le=\"30.0\"} 3\n"
              "h_seconds_bucket{k=\"v\",le=\"60.0\"} 3\n"
              "h_seconds_bucket{k=\"v\",le=\"120.0\"} 3\n"
              "h_seconds_bucket{k=\"v\",le=\"300.0\"} 3\n"
              "h_seconds_bucket{k=\"v\",le=\"3600.0\"} 3\n"
              "h_seconds_bucket{k=\"v\",le=\"+Inf\"} 4\n"
              "h_seconds_sum{k=\"v\"} 10000.902000001\n"
              "h_seconds_count{k=\"v\"} 4\n");
}

static void content_types(void **state)
{
    (void)state;
    assert_string_equal(exposition_content_type(EXPOSITION_OPENMETRICS),
                        "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert_string_equal(exposition_content_type(EXPOSITION_PROMETHEUS),
                        "text/plain; version=0.0.4; charset=utf-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_family_of_each_type, setup, teardown),
        cmocka_unit_test_setup_teardown(the_old_format, setup, teardown),
        cmocka_unit_test_setup_teardown(labels_are_escaped, setup, teardown),
        cmocka_unit_test_setup_teardown(seconds_are_exact, setup, teardown),
        cmocka_unit_test_setup_teardown(a_histogram, setup, teardown),
        cmocka_unit_test(content_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
