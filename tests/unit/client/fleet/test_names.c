/* SPDX-License-Identifier: MIT */
#include "client/fleet/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void check_round(const char *id, size_t n, const char *expected)
{
    char token[NAMES_TOKEN_MAX + 1];
    _cleanup_bytes_ struct bytes back = BYTES_NULL;
    names_token(id, n, token);
    if (expected)
        assert_string_equal(token, expected);
    assert_int_equal(names_id(token, &back), 0);
    assert_int_equal(back.length, n);
    assert_memory_equal(back.data, id, n);
}

static void test_ids_and_tokens(void **state)
{
    char every[128];
    (void)state;
    check_round("plain_-09AZaz", 13, "plain_-09AZaz");
    check_round("a.b *>", 6, "a%2Eb%20%2A%3E");
    check_round("\0\xff", 2, "%00%FF");
    check_round("%41", 3, "%2541");
    for (size_t half = 0; half < 2; half++) {
        for (size_t i = 0; i < sizeof(every); i++)
            every[i] = (char)(half * sizeof(every) + i);
        check_round(every, sizeof(every), NULL);
    }
}

static void test_tokens_that_are_none(void **state)
{
    static const char *const wrong[] = {"", "a.b", "a%", "a%4", "%4g", "%zz", "%4a", "a b", "*"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct bytes id = BYTES_NULL;
        assert_int_equal(names_id(wrong[i], &id), -EINVAL);
        assert_null(id.data);
    }
}

static void test_names_of_runs(void **state)
{
    struct fault fault = FAULT_NULL;
    (void)state;
    assert_int_equal(names_check("--run", "a_B-9", 5, &fault), 0);
    assert_int_equal(names_check("--run", "a_B-99", 5, &fault), -EINVAL);
    assert_string_equal(fault.text, "--run \"a_B-99\": expected 1 to 5 characters");
    assert_int_equal(names_check("--run", "", 5, &fault), -EINVAL);
    assert_int_equal(names_check("--run", "a.b", 5, &fault), -EINVAL);
    assert_string_equal(fault.text, "--run \"a.b\": only letters, digits, _ and - are allowed");
}

static void test_jobs(void **state)
{
    char subject[NAMES_SUBJECT_SIZE];
    struct names_job job;
    (void)state;
    for (int64_t priority = NAMES_PRIORITY_MIN; priority <= NAMES_PRIORITY_MAX; priority++) {
        names_job("f", "r-1", priority, "a%2Eb", subject);
        assert_true(names_read_job("f", subject, &job));
        assert_string_equal(job.run, "r-1");
        assert_string_equal(job.token, "a%2Eb");
        assert_int_equal(job.priority, priority);
    }
    assert_string_equal(subject, "f.jobs.r-1.p20.a%2Eb");
    static const char *const wrong[] = {"g.jobs.r.p1.a", "f.results.r.p1.a", "f.jobs.r.p1",
                                        "f.jobs.r.1.a",  "f.jobs.r.p21.a",   "f.jobs.r.p.a",
                                        "f.jobs.r.px.a", "f.jobs.r.p001.a",  "f.jobs."};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_false(names_read_job("f", wrong[i], &job));
}

static void test_consumers(void **state)
{
    char name[NAMES_SUBJECT_SIZE], run[NAMES_RUN_MAX + 1];
    int64_t priority;
    (void)state;
    names_consumer("a-p3", 5, name);
    assert_string_equal(name, "a-p3-p15");
    assert_true(names_read_consumer(name, run, &priority));
    assert_string_equal(run, "a-p3");
    assert_int_equal(priority, 5);
    assert_false(names_read_consumer("-p3", run, &priority));
    assert_false(names_read_consumer("somebody", run, &priority));
    assert_false(names_read_consumer("a-b", run, &priority));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_and_tokens), cmocka_unit_test(test_tokens_that_are_none),
        cmocka_unit_test(test_names_of_runs),  cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_consumers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
