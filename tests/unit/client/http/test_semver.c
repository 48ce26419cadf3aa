/* SPDX-License-Identifier: MIT */
#include "client/http/semver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_find(void **state)
{
    (void)state;
    static const struct {
        const char *text, *version;
    } table[] = {
        {"g++ (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"},
        {"Python 3.11.2", "3.11.2"},
        {"v18.20.4", "18.20.4"},
        {"go version go1.19.8 linux/amd64", "1.19.8"},
        {"This is perl 5, version 36, subversion 0 (v5.36.0)", "5.36.0"},
        {"GNU bash, version 5.2.15(1)-release", "5.2.15"},
        {"Lua 5.4", "5.4.0"},
        {"1.2.3.4", "1.2.3"},
        {"none 2024", "0.0.0"},
        {"", "0.0.0"},
        {"99999999999999999999.1", "0.0.0"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct semver version;
        char text[SEMVER_TEXT_MAX];
        (void)semver_find(table[i].text, &version);
        semver_print(&version, text);
        assert_string_equal(text, table[i].version);
    }
}

static bool selects(const char *selector, unsigned major, unsigned minor, unsigned patch)
{
    const struct semver version = {.part = {major, minor, patch}};
    return semver_selects(selector, &version);
}

static void test_selects(void **state)
{
    (void)state;
    static const char *const good[] = {
        "*",      "",         "x",           "3",       "3.x",       "3.x.x",      "3.11",
        "3.11.*", "3.11.2",   "=3.11.2",     "v3.11.2", "^3.10.0",   "^3.11",      "~3.11.0",
        "~3",     ">=3.9 <4", ">=3.11.2",    "<=3.11",  ">3.10",     "3.9 - 3.11", "2.x || 3.x",
        "4 || 3", "> 3.10.9", "3.11.2-rc.1", "<3.12",   "<= 3.11.2", "3.10.0 - 3",
    };
    static const char *const bad[] = {
        "2",        "3.12",  "3.11.3", "^2.0.0",  "^3.12",       "~3.10",    "~3.11.3", ">3.11",
        ">=3.12",   "<3.11", "<=3.10", "<3.11.2", ">=3.9 <3.11", "3.12 - 4", "2 || 4",  "nonsense",
        "3.11.2.1", "3..1",  ">",      "|",       "3 | 4",       "3 ||| 3",  "<>3",     "-1",
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!selects(good[i], 3, 11, 2))
            fail_msg("%s should select 3.11.2", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (selects(bad[i], 3, 11, 2))
            fail_msg("%s should not select 3.11.2", bad[i]);
    assert_true(selects("^0.2.3", 0, 2, 9));
    assert_false(selects("^0.2.3", 0, 3, 0));
    assert_false(selects("^0.0.3", 0, 0, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_selects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
