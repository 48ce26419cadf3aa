/* SPDX-License-Identifier: MIT */
#include "tests/unit/limit_table.h"

static void test_names(void **state)
{
    const struct limit_table *table = limit_table();
    (void)state;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        const struct limit_row *row = &table->rows[limit];
        assert_string_equal(limit_name(limit), row->name);
        assert_string_equal(limit_key(limit), row->key);
        assert_int_equal(limit_from_key(row->key), limit);
        assert_int_equal(limit_is_time(limit), row->is_time);
        assert_int_equal(limit_is_in_bytes(limit), strstr(limit_key(limit), "bytes") != NULL);
    }
    assert_int_equal(LIMIT_NONE, LIMIT_COUNT);
    assert_null(limit_name(LIMIT_NONE));
    assert_null(limit_key(LIMIT_NONE));
    assert_false(limit_is_time(LIMIT_NONE));
    assert_false(limit_is_in_bytes(LIMIT_NONE));
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
    const struct limit_table *table = limit_table();
    (void)state;
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        assert_limits(&job_kind_get(kind)->defaults, &table->defaults[kind]);
    assert_limits(&limits_ceiling_default, &table->ceilings);
}

/* A request may ask for each default. (The output of a session has a ceiling of its own, with which
 * the configuration is compared.) */
static void test_defaults_are_allowed(void **state)
{
    (void)state;
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
            if (kind != JOB_SESSION || limit != LIMIT_OUTPUT)
                assert_in_range(job_kind_get(kind)->defaults.of[limit], 1,
                                limits_ceiling_default.of[limit]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_defaults_are_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
