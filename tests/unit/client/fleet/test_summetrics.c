/* SPDX-License-Identifier: MIT */
#include "client/fleet/summetrics.h"
#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *const *texts, size_t n, const char *more, const char *expected)
{
    _cleanup_json_ json_t *array = json_array();
    _cleanup_bytes_ struct bytes sum = BYTES_NULL;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(json_array_append_new(array, json_string(texts[i])), 0);
    assert_int_equal(summetrics_make(array, more, &sum), 0);
    assert_string_equal(sum.data, expected);
    assert_int_equal(sum.length, strlen(expected));
}

static void test_sums(void **state)
{
    static const char *const texts[] = {
        "# TYPE jobs counter\n# HELP jobs Jobs.\njobs_total{kind=\"a b\"} 3\n"
        "# TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"0.1\"} 1\n"
        "wait_seconds_bucket{le=\"+Inf\"} 2\nwait_seconds_sum 0.25\n# EOF\n",
        "# TYPE jobs counter\n# HELP jobs Jobs.\njobs_total{kind=\"a b\"} 4\n"
        "jobs_total{kind=\"c\"} 1\n"
        "# TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"0.1\"} 0\n"
        "wait_seconds_bucket{le=\"+Inf\"} 5\nwait_seconds_sum 1.5\n"
        "# TYPE only_here gauge\nonly_here 7\n# EOF\n",
    };
    (void)state;
    expect(texts, 2, NULL,
           "# TYPE jobs counter\n# HELP jobs Jobs.\njobs_total{kind=\"a b\"} 7\n"
           "jobs_total{kind=\"c\"} 1\n"
           "# TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"0.1\"} 1\n"
           "wait_seconds_bucket{le=\"+Inf\"} 7\nwait_seconds_sum 1.75\n"
           "# TYPE only_here gauge\nonly_here 7\n# EOF\n");
}

static void test_what_is_not_summed(void **state)
{
    static const char *const texts[] = {
        "# TYPE build info\nbuild_info{version=\"1\"} 1\n# TYPE state stateset\n"
        "state{state=\"draining\"} 0\n# TYPE default_seconds gauge\ndefault_seconds 3\n"
        "# TYPE x_start_time_seconds gauge\nx_start_time_seconds 200\n"
        "# TYPE x_healthy gauge\nx_healthy 1\n# TYPE x_generation gauge\nx_generation 2\n",
        "# TYPE build info\nbuild_info{version=\"1\"} 1\n# TYPE state stateset\n"
        "state{state=\"draining\"} 1\n# TYPE default_seconds gauge\ndefault_seconds 2.5\n"
        "# TYPE x_start_time_seconds gauge\nx_start_time_seconds 100\n"
        "# TYPE x_healthy gauge\nx_healthy 0\n# TYPE x_generation gauge\nx_generation 1\n",
    };
    (void)state;
    expect(texts, 2, "# TYPE own gauge\nown 1\n",
           "# TYPE build info\nbuild_info{version=\"1\"} 1\n# TYPE state stateset\n"
           "state{state=\"draining\"} 1\n# TYPE default_seconds gauge\ndefault_seconds 3\n"
           "# TYPE x_start_time_seconds gauge\nx_start_time_seconds 100\n"
           "# TYPE x_healthy gauge\nx_healthy 0\n# TYPE x_generation gauge\nx_generation 2\n"
           "# TYPE own gauge\nown 1\n# EOF\n");
}

static void test_texts_that_are_none(void **state)
{
    static const char *const texts[] = {"", "\n\n", "sample_without_family 1\n", "# TYPE cut",
                                        "# TYPE a counter\nno_value"};
    (void)state;
    expect(NULL, 0, NULL, "# EOF\n");
    expect(texts, ARRAY_SIZE(texts), NULL, "# TYPE a counter\n# EOF\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_what_is_not_summed),
        cmocka_unit_test(test_texts_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
