/* SPDX-License-Identifier: MIT */
/* How large the result of a job may become. */
#include "client/http/resultsize.h"

#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
/* What each result may take beside its output: stderr and summary of the outcome, and the rest. */
#define FIXED ((64 + 6 * 68) * KIB)

static uint64_t most(const char *job, bool has_limits)
{
    _cleanup_json_ json_t *limits =
        json_loads("{\"defaults\": {\"sandbox\": {\"output_bytes\": 1000},"
                   " \"program\": {\"output_bytes\": 1000}},"
                   " \"ceilings\": {\"sandbox\": {\"output_bytes\": 2000},"
                   " \"program\": {\"output_bytes\": 100000000}}}",
                   0, NULL);
    _cleanup_json_ json_t *parsed = json_loads(job, JSON_DECODE_ANY, NULL);
    assert_non_null(parsed);
    return resultsize_most(parsed, has_limits ? limits : NULL);
}

static void test_output(void **state)
{
    (void)state;
    assert_int_equal(most("{\"kind\": \"sandbox\"}", true), FIXED + 6000);
    assert_int_equal(most("{\"kind\": \"sandbox\", \"limits\": {\"output_bytes\": 1500}}", true),
                     FIXED + 9000);
    /* The daemon refuses more than its ceiling. */
    assert_int_equal(most("{\"kind\": \"sandbox\", \"limits\": {\"output_bytes\": 9999999}}", true),
                     FIXED + 12000);
    /* It tells no more than 8 MiB. */
    assert_int_equal(
        most("{\"kind\": \"program\", \"limits\": {\"output_bytes\": 99999999}}", true),
        FIXED + 48 * MIB + 6 * MIB);
    assert_int_equal(most("{\"kind\": \"sandbox\"}", false), FIXED + 24 * MIB);
}

static void test_steps(void **state)
{
    (void)state;
    assert_int_equal(most("{\"kind\": \"sandbox\", \"limits\": {\"output_bytes\": 300}, \"steps\":"
                          " [{}, {\"limits\": {\"output_bytes\": 200}}, 7]}",
                          true),
                     FIXED + 6 * 800);
}

static void test_files_and_tests(void **state)
{
    (void)state;
    assert_int_equal(most("{\"kind\": \"sandbox\", \"collect\": [\"*\"]}", true),
                     FIXED + 6000 + 8 * MIB + 6 * KIB * 1023);
    assert_int_equal(most("{\"kind\": \"program\", \"tests\": [{}, {}]}", true),
                     FIXED + 6000 + 6 * MIB + 2 * 512);
}

static void test_odd_jobs(void **state)
{
    static const char *const odd[] = {
        "{}", "[]", "{\"kind\": 3, \"steps\": {}, \"limits\": []}",
        "{\"kind\": \"sandbox\", \"limits\": {\"output_bytes\": -5}}"};
    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        assert_in_range(most(odd[i], true), FIXED, FIXED + 24 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_files_and_tests),
        cmocka_unit_test(test_odd_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
