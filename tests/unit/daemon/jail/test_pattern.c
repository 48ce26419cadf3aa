/* SPDX-License-Identifier: MIT */
/* Patterns of file names. Where the C library promises the same meaning, its answer is the same. */
#include "daemon/base/clock.h"
#include "daemon/jail/pattern.h"
#include "proto/util.h"

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_meaning(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"a", "a", true},
        {"a", "b", false},
        {"a", "ab", false},
        {"ab", "a", false},
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "a/b/.c", true},
        {"*.o", "d/a.o", true},
        {"*.o", ".o", true},
        {"*.o", "a.oo", false},
        {"a*b*c", "a1b2b3c", true},
        {"a*b*c", "a1c2", false},
        {"**", "x", true},
        {"a*", "a", true},
        {"?", "/", true},
        {"?", "", false},
        {"??", "a", false},
        {"[abc]", "b", true},
        {"[abc]", "d", false},
        {"[a-c]x", "cx", true},
        {"[!a-c]", "d", true},
        {"[^a-c]", "a", false},
        {"[]a]", "]", true},
        {"[!]a]", "]", false},
        {"[a-]", "-", true},
        {"[a", "[a", true},
        {"[a", "a", false},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"a\\", "a\\", true},
        {"\\[a]", "[a]", true},
        {"[*]", "*", true},
        {"[*]", "a", false},
        {"\xff*", "\xff\xfe", true},
        {"[\xe0-\xff]", "\xe5", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (pattern_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
            fail_msg("%s and %s", cases[i].pattern, cases[i].name);
}

static void test_names_are_no_patterns(void **state)
{
    (void)state;
    assert_true(pattern_is_name("a/b c.d]"));
    assert_true(pattern_is_name(""));
    assert_false(pattern_is_name("a*"));
    assert_false(pattern_is_name("a?"));
    assert_false(pattern_is_name("[a"));
    assert_false(pattern_is_name("\\a"));
}

/* Sets aside: the library refuses a pattern that ends in a backslash, and knows classes of
 * characters ([:alpha:], [.a.]). */
static void test_as_the_library(void **state)
{
    static const char alphabet[] = "ab*?[]!-";
    uint64_t seed = 1;
    char pattern[8], name[6];
    (void)state;
    for (int i = 0; i < 300000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t bits = seed >> 20;
        size_t n = bits % sizeof(pattern), m = bits / 8 % sizeof(name);
        bits >>= 6;
        for (size_t k = 0; k < n; k++, bits >>= 3)
            pattern[k] = alphabet[bits & 7];
        pattern[n] = '\0';
        for (size_t k = 0; k < m; k++, bits >>= 2)
            name[k] = alphabet[bits & 3];
        name[m] = '\0';
        /* A range whose end comes before its beginning, or that has no end, is not defined. */
        if (strchr(pattern, '[') && strchr(pattern, '-'))
            continue;
        if (pattern_matches(pattern, name) != (fnmatch(pattern, name, 0) == 0))
            fail_msg("\"%s\" and \"%s\"", pattern, name);
    }
}

/* What takes fnmatch() longer than anybody waits. */
static void test_time_is_bounded(void **state)
{
    char pattern[200], name[1024];
    (void)state;
    (void)alarm(60);
    for (size_t i = 0; i + 2 < sizeof(pattern); i += 2)
        memcpy(pattern + i, "*a", 2);
    memcpy(pattern + sizeof(pattern) - 2, "b", 2);
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_false(pattern_matches(pattern, name));
    (void)alarm(0);
}

/* Who may not spend the time is told to believe that it matches. */
static void test_a_budget(void **state)
{
    static const char *const slow[] = {"*aaaaaaab", "*[a][a][a][a]b", "*a[a[a[a[a[a[b"};
    char name[1024];
    (void)state;
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
        uint64_t much = UINT64_C(1) << 24, left = much, less = 0;
        assert_false(pattern_matches_within(slow[i], name, &left));
        less = much - left;
        assert_in_range(less, 4 * sizeof(name), 64 * sizeof(name));
        assert_false(pattern_matches_within(slow[i], name, &less));
        assert_int_equal(less, 0);
        less = much - left - 1;
        assert_true(pattern_matches_within(slow[i], name, &less));
        assert_int_equal(less, 0);
        assert_true(pattern_matches_within("b", "a", &less));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning),        cmocka_unit_test(test_names_are_no_patterns),
        cmocka_unit_test(test_as_the_library), cmocka_unit_test(test_time_is_bounded),
        cmocka_unit_test(test_a_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
