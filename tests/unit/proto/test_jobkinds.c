/* SPDX-License-Identifier: MIT */
/* Checks that every row of the table of job kinds has what request.c relies on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/jobfields.h"

#include <stdlib.h>

static void test_rows(void **state)
{
    (void)state;
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++) {
        const struct job_kind *kind = job_kind_get(id);
        assert_non_null(kind->decode);
        assert_non_null(kind->size);
        assert_non_null(kind->deinit);
        assert_in_range(kind->field_count, JOB_FIELDS_COMMON, JOB_FIELDS_MAX);
        assert_string_equal(kind->fields[JOB_FIELD_KIND].name, "kind");
        assert_string_equal(kind->fields[JOB_FIELD_PRIORITY].name, "priority");
        assert_string_equal(kind->fields[JOB_FIELD_LIMITS].name, "limits");
        for (size_t i = 0; i < kind->field_count; i++)
            assert_non_null(kind->fields[i].name);
        for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
            assert_true(kind->defaults.of[limit] > 0);
    }
}

static void test_names(void **state)
{
    (void)state;
    /* With a duplicate name the look-up would find the first kind. */
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++)
        assert_int_equal(job_kind_find(job_kind_name(id)), id);
    assert_int_equal(job_kind_find(""), JOB_KIND_COUNT);
    assert_int_equal(job_kind_find("rubri"), JOB_KIND_COUNT);
    assert_int_equal(job_kind_find("rubrics"), JOB_KIND_COUNT);
}

/* A spec that was never decoded can be measured and freed. */
static void test_empty_specs(void **state)
{
    (void)state;
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++) {
        struct job_spec *spec = calloc(1, sizeof(*spec));
        assert_non_null(spec);
        spec->kind = id;
        assert_int_equal(job_spec_size(spec), 0);
        assert_null(job_spec_free(spec));
    }
    assert_null(job_spec_free(NULL));
}

/* What the queue's bound counts: the input of the rubric, and the note on the system under test. */
static void test_size_of_a_rubric(void **state)
{
    (void)state;
    struct job_spec *spec = calloc(1, sizeof(*spec));
    assert_non_null(spec);
    spec->kind = JOB_RUBRIC;
    assert_int_equal(bytes_copy("input", 5, &spec->rubric.input), 0);
    assert_int_equal(job_spec_size(spec), 5 + ALLOCATION_OVERHEAD);
    assert_int_equal(bytes_copy("sut", 3, &spec->rubric.sut_detail), 0);
    assert_int_equal(job_spec_size(spec), 8 + 2 * ALLOCATION_OVERHEAD);
    assert_null(job_spec_free(spec));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_empty_specs),
        cmocka_unit_test(test_size_of_a_rubric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
