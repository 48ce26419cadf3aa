/* SPDX-License-Identifier: MIT */
#include "conf/suggest.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_distance(void **state)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"same", "same", 0},
        {"slot", "slots", 1},
        {"solts", "slots", 1},
        {"jbos", "jobs", 1},
        {"kitten", "sitting", 3},
        {"ca", "abc", 3}, /* swapped letters are not edited again */
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaX", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaYY", 0},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", SUGGEST_WORD_MAX},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(suggest_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(suggest_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

static void test_suggest(void **state)
{
    static const char *const commands[] = {"run", "batch", "status", "ping", "cancel", "drain"};
    static const struct {
        const char *typed;
        const char *meant;
    } cases[] = {
        {"statsu", "status"},
        {"stat", "status"},
        {"bacth", "batch"},
        {"dran", "drain"},
        {"pign", "ping"},
        {"cancle", "cancel"},
        {"rub", "run"},
        {"grade", NULL},
        {"xyzzy", NULL},
        {"", NULL},
        {"a-word-that-is-longer-than-any-command", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *found = suggest(cases[i].typed, commands, ARRAY_SIZE(commands));
        if (cases[i].meant)
            assert_string_equal(found, cases[i].meant);
        else
            assert_null(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_suggest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
