/* SPDX-License-Identifier: MIT */
/* tests/names_check.py compares with Python's own parser; these are the rules, and texts that are
 * no Python. */
#include "client/grade/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct given {
    const char *prompt;
    const char *solution;
    const char *entry_point;
    const char *test;
    const char *target;
    const char *setup;
};

static json_t *string_or_null(const char *text)
{
    return text ? json_string(text) : NULL;
}

/* EXPECTED is a JSON array; "" if there is no name. */
static void assert_names(const struct given *given, const char *expected)
{
    _cleanup_json_ json_t *prompt = string_or_null(given->prompt);
    _cleanup_json_ json_t *solution = string_or_null(given->solution);
    _cleanup_json_ json_t *entry_point = string_or_null(given->entry_point);
    _cleanup_json_ json_t *test = string_or_null(given->test);
    _cleanup_json_ json_t *setup = string_or_null(given->setup);
    _cleanup_json_ json_t *targets = given->target ? json_pack("[s]", given->target) : NULL;
    _cleanup_json_ json_t *names = NULL;
    const struct names_texts texts = {prompt, solution, entry_point, test, targets, setup};
    assert_int_equal(names_find(&texts, &names), 0);
    _cleanup_free_ char *got = names ? json_dumps(names, JSON_COMPACT) : strdup("");
    assert_string_equal(got, expected);
}

#define ASSERT_NAMES(expected, ...) assert_names(&(const struct given){__VA_ARGS__}, expected)

static void test_what_solutions_define(void **state)
{
    (void)state;
    ASSERT_NAMES("[\"count\"]", .solution = "def count(s):\n    return 1\n",
                 .target = "assert count('a') == 1");
    ASSERT_NAMES("[\"A\",\"b\",\"c\"]",
                 .solution = "class A:\n    c = 1\nasync def b(): pass\nif 1:\n    c = d = 2\n",
                 .target = "A, b, c");
    ASSERT_NAMES("", .solution = "import count\nfrom count import *\nx.count = 1\n",
                 .target = "count");
    ASSERT_NAMES("", .solution = "def f():\n    count = 1\n\n    def count(): pass\n",
                 .target = "count");
    ASSERT_NAMES("", .solution = "'''\ndef count(): pass\n'''\n# def count(): pass\n",
                 .target = "count");
    ASSERT_NAMES("", .target = "count");
}

static void test_what_tests_mention(void **state)
{
    const char *solution = "def a(): pass\ndef b(): pass\ndef c(): pass\n";
    (void)state;
    ASSERT_NAMES("[\"a\",\"b\",\"c\"]", .solution = solution, .target = "a()", .setup = "b()\nc()");
    ASSERT_NAMES("[\"b\"]", .solution = solution, .target = "'a'; x.c; assert f(c=b) # a");
    ASSERT_NAMES("[\"a\"]", .solution = solution, .target = "f'b {a(1)!r} c'");
    ASSERT_NAMES("", .solution = solution, .target = "from c import b\ndef a(): pass");
    ASSERT_NAMES("[\"b\"]", .solution = solution, .target = "a(b)\ndef a(x): pass\nc(a)",
                 .setup = "import c");
    ASSERT_NAMES("[\"a\"]", .solution = solution, .entry_point = "c",
                 .test = "def check(candidate): assert a(candidate) and c");
}

/* What the prompt defines is not the candidate's: it would decide the verdict. */
static void test_prompts(void **state)
{
    const char *prompt = "def poly(x):\n    return x\n\ndef f(x):\n    '''Finds.'''\n";
    (void)state;
    ASSERT_NAMES("", .prompt = prompt, .solution = "    y = poly(x)\n    return y\n",
                 .entry_point = "f", .test = "poly(y)");
    ASSERT_NAMES("", .prompt = prompt, .solution = "def poly(x):\n    return 0\n\ndef f(x): pass\n",
                 .entry_point = "f", .test = "poly(1)");
    ASSERT_NAMES("[\"g\"]", .prompt = prompt, .solution = "    return g(x)\n\ndef g(x): pass\n",
                 .entry_point = "f", .test = "g(1)");
}

static void test_texts_that_are_no_python(void **state)
{
    static const char *const texts[] = {
        "",        "'",          "'''",    "def",   "def (",        "a = (",
        "((((",    "))))",       "\\",     "f'{",   "\xEF\xBB\xBF", "= = =",
        "a: b: c", "lambda x=a", "\t\f\r", "class", "async",        "@",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        ASSERT_NAMES("", .solution = texts[i], .target = "x");
        ASSERT_NAMES("", .solution = "def count(): pass", .target = texts[i]);
    }
    ASSERT_NAMES("[\"count\"]",
                 .solution = "\xEF\xBB\xBF"
                             "def count(",
                 .target = "count");
}

/* No more than a job may have, and none that is too long for it. */
static void test_bounds(void **state)
{
    char solution[300 * 16] = "", target[300 * 8] = "", name[300] = "";
    (void)state;
    for (int i = 0; i < 260; i++) {
        (void)sprintf(solution + strlen(solution), "n%d = 1\n", i);
        (void)sprintf(target + strlen(target), "n%d\n", i);
    }
    _cleanup_json_ json_t *of_solution = json_string(solution);
    _cleanup_json_ json_t *of_target = json_string(target);
    _cleanup_json_ json_t *names = NULL;
    const struct names_texts texts = {.solution = of_solution, .test = of_target};
    assert_int_equal(names_find(&texts, &names), 0);
    assert_int_equal(json_array_size(names), 256);

    memset(name, 'n', 256);
    (void)snprintf(solution, sizeof(solution), "%s = 1\n", name);
    ASSERT_NAMES("", .solution = solution, .target = name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_solutions_define),
        cmocka_unit_test(test_what_tests_mention),
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_texts_that_are_no_python),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
