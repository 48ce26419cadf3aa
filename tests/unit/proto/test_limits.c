/* SPDX-License-Identifier: MIT */
#include "proto/jobkinds.h"
#include "proto/limits.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The defaults and ceilings; times in milliseconds. */
static const struct {
    enum limit limit;
    const char *name, *key;
    bool is_time;
    uint64_t sandbox, rubric, code_exec, ceiling;
} table[] = {
    {LIMIT_WALL_CLOCK, "wall_clock", "wall_clock", true, 120000, 60000, 3000, 300000},
    {LIMIT_CPU, "cpu", "cpu", true, 60000, 300000, 60000, 300000},
    {LIMIT_MEMORY, "memory", "memory_bytes", false, 1073741824, 1073741824, 1073741824, 4294967296},
    {LIMIT_OPEN_FILES, "open_files", "max_open_files", false, 256, 256, 256, 1024},
    {LIMIT_PROCESSES, "processes", "max_processes", false, 64, 64, 64, 256},
    {LIMIT_OUTPUT, "output", "output_bytes", false, 262144, 262144, 262144, 4194304},
    {LIMIT_DISK, "disk", "disk_bytes", false, 67108864, 67108864, 67108864, 1073741824},
};

static void test_all_there(void **state)
{
    (void)state;
    assert_int_equal(ARRAY_SIZE(table), LIMIT_COUNT);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        assert_int_equal(table[i].limit, i);
    assert_int_equal(LIMIT_NONE, LIMIT_COUNT);
}

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        assert_string_equal(limit_name(table[i].limit), table[i].name);
        assert_string_equal(limit_key(table[i].limit), table[i].key);
        assert_int_equal(limit_from_key(table[i].key), table[i].limit);
        assert_int_equal(limit_is_time(table[i].limit), table[i].is_time);
    }
    assert_null(limit_name(LIMIT_NONE));
    assert_null(limit_key(LIMIT_NONE));
    assert_false(limit_is_time(LIMIT_NONE));
}

/* A reply's name for a limit is not a key in requests if the two differ. */
static void test_unknown_keys(void **state)
{
    static const char *const keys[] = {
        "",
        "memory",
        "open_files",
        "processes",
        "output",
        "disk",
        "CPU",
        "cpu ",
        " cpu",
        "cp",
        "cpus",
        "wall_clock_ms",
        "wallclock",
        "allow_network",
        "memory_byte",
        "memory_bytess",
        "max_open_files\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        assert_int_equal(limit_from_key(keys[i]), LIMIT_NONE);
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        assert_true(job_kind_get(JOB_SANDBOX)->defaults.of[table[i].limit] == table[i].sandbox);
        assert_true(job_kind_get(JOB_RUBRIC)->defaults.of[table[i].limit] == table[i].rubric);
        assert_true(job_kind_get(JOB_CODE_EXEC)->defaults.of[table[i].limit] == table[i].code_exec);
        assert_true(limits_ceiling_default.of[table[i].limit] == table[i].ceiling);
    }
}

/* A request may ask for each default. */
static void test_defaults_are_allowed(void **state)
{
    (void)state;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        assert_true(job_kind_get(JOB_SANDBOX)->defaults.of[limit] > 0);
        assert_true(job_kind_get(JOB_SANDBOX)->defaults.of[limit] <=
                    limits_ceiling_default.of[limit]);
        assert_true(job_kind_get(JOB_RUBRIC)->defaults.of[limit] <=
                    limits_ceiling_default.of[limit]);
        assert_true(job_kind_get(JOB_CODE_EXEC)->defaults.of[limit] > 0);
        assert_true(job_kind_get(JOB_CODE_EXEC)->defaults.of[limit] <=
                    limits_ceiling_default.of[limit]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_there),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_defaults_are_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
