/* SPDX-License-Identifier: MIT */
#include "client/fleet/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BEGAN INT64_C(5000)

/* A job is left to others for a while, and anew when it has starved once more. */
static void test_for_a_while(void **state)
{
    struct passes passes;
    (void)state;
    passes_init(&passes);
    assert_true(passes_by(&passes, 1, 1, BEGAN));
    assert_true(passes_by(&passes, 2, 1, BEGAN + 4000));
    assert_true(passes_by(&passes, 1, 1, BEGAN + PASSES_MS - 1));
    assert_false(passes_by(&passes, 1, 1, BEGAN + PASSES_MS));
    assert_false(passes_by(&passes, 1, 1, BEGAN + PASSES_MS));
    assert_true(passes_by(&passes, 2, 1, BEGAN + PASSES_MS));
    assert_true(passes_by(&passes, 1, 2, BEGAN + PASSES_MS));
    assert_true(passes_by(&passes, 1, 2, BEGAN + 2 * PASSES_MS - 1));
    assert_false(passes_by(&passes, 1, 2, BEGAN + 2 * PASSES_MS));
    passes_deinit(&passes);
}

/* What is long past takes no memory. */
static void test_old_ones_go(void **state)
{
    struct passes passes;
    size_t n = 0;
    (void)state;
    passes_init(&passes);
    for (uint64_t seq = 1; seq <= 100; seq++)
        assert_true(passes_by(&passes, seq, 1, BEGAN));
    assert_false(passes_by(&passes, 50, 1, BEGAN + PASSES_KEEP_MS));
    assert_true(passes_by(&passes, 101, 1, BEGAN + PASSES_KEEP_MS + 1));
    struct pass *pass;
    TAILQ_FOREACH(pass, &passes, link)
    n++;
    assert_int_equal(n, 1);
    passes_deinit(&passes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_for_a_while),
        cmocka_unit_test(test_old_ones_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
