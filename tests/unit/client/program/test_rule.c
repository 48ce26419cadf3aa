/* SPDX-License-Identifier: MIT */
#include "client/program/rule.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_rules(void **state)
{
    (void)state;
    static const char *const known[] = {
        "exact",        "lines",           "tokens",       "livecodebench", "apps",
        "codecontests", "float:1e-6,1e-9", "float:0,1E+2", "float:.5,+1.",
    };
    static const struct {
        const char *text, *says;
    } unknown[] = {
        {"token", "--compare: unknown rule \"token\"; did you mean tokens?"},
        {"float", "--compare: unknown rule \"float\"; did you mean float:ABS,REL?"},
        {"alike", "--compare: unknown rule \"alike\"; there are exact, lines, tokens, "
                  "float:ABS,REL, livecodebench, apps and codecontests"},
        {"", "--compare: unknown rule \"\""},
        {"float:1e-6", "--compare: \"float:1e-6\" has no two tolerances: float:ABS,REL takes two "
                       "numbers that are not negative, as in float:1e-6,1e-9"},
        {"float:", "--compare: \"float:\" has no two"},
        {"float:ABS,REL", "--compare: \"float:ABS,REL\" has no two"},
        {"float:-1,0", "--compare: \"float:-1,0\" has no two"},
        {"float:1,", "--compare: \"float:1,\" has no two"},
        {"float:1,2,3", "--compare: \"float:1,2,3\" has no two"},
        {"float: 1,2", "--compare: \"float: 1,2\" has no two"},
        {"float:0x1,2", "--compare: \"float:0x1,2\" has no two"},
        {"float:inf,2", "--compare: \"float:inf,2\" has no two"},
        {"float:1e999,2", "--compare: \"float:1e999,2\" has no two"},
        {"float:e,2", "--compare: \"float:e,2\" has no two"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        assert_int_equal(rule_check(known[i], NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
        struct fault fault = FAULT_NULL;
        assert_int_equal(rule_check(unknown[i].text, &fault), -EINVAL);
        if (strncmp(fault.text, unknown[i].says, strlen(unknown[i].says)) != 0)
            fail_msg("%s", fault.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
