/* SPDX-License-Identifier: MIT */
#include "client/batch/flakiness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_shown(const struct flakiness *flakiness, const char *expected)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    flakiness_put(out, flakiness);
    (void)fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void add(struct flakiness *flakiness, const char *id, const char *verdicts)
{
    for (; *verdicts; verdicts++)
        assert_int_equal(flakiness_add(flakiness, id, strlen(id), *verdicts == '+'), 0);
}

static void test_verdicts(void **state)
{
    struct flakiness flakiness;
    (void)state;
    assert_int_equal(flakiness_init(&flakiness), 0);
    add(&flakiness, "once", "+");
    assert_shown(&flakiness, "flakiness: 0 of 0 cases had different verdicts\n");
    add(&flakiness, "passes", "++++");
    add(&flakiness, "fails", "---");
    add(&flakiness, "\x1b[31m", "-+--+");
    add(&flakiness, "late", "+++-");
    assert_shown(&flakiness, "flakiness: 2 of 4 cases had different verdicts:\n"
                             "    \\x1b[31m (2 of 5 passed), late (3 of 4 passed)\n");
    flakiness_deinit(&flakiness);
}

static void test_many(void **state)
{
    struct flakiness flakiness;
    char id[16];
    (void)state;
    assert_int_equal(flakiness_init(&flakiness), 0);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(id, sizeof(id), "j%d", i);
        add(&flakiness, id, "+-");
    }
    assert_int_equal(flakiness.different, 1000);
    assert_int_equal(json_array_size(flakiness.names), 20);
    flakiness_deinit(&flakiness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
