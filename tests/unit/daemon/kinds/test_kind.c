/* SPDX-License-Identifier: MIT */
/* Checks that every kind of job has the operations that the daemon calls without a check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/kinds/kind.h"

static void test_rows(void **state)
{
    (void)state;
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++) {
        const struct kind_ops *kind = kind_ops_get(id);
        assert_non_null(kind);
        assert_non_null(kind->label);
        assert_non_null(kind->plan);
        assert_non_null(kind->drop_input);
        assert_non_null(kind->judge);
        assert_true(!kind->is_run == !kind->score_unrun); /* one implies the other */
        for (enum job_kind_id other = 0; other < id; other++)
            assert_ptr_not_equal(kind, kind_ops_get(other));
    }
}

static void test_empty_plan_and_judgement(void **state)
{
    struct kind_plan plan = KIND_PLAN_NULL;
    struct judgement judgement = JUDGEMENT_NULL;
    (void)state;
    kind_plan_deinit(&plan);
    judgement_deinit(&judgement);
    judgement_deinit(&judgement);
    assert_null(judgement.assertions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_empty_plan_and_judgement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
