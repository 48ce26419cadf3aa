/* SPDX-License-Identifier: MIT */
#include "client/program/programview.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* JSON is written with ' for ". */
static json_t *read_json(const char *text)
{
    _cleanup_free_ char *quoted = strdup(text);
    assert_non_null(quoted);
    for (char *c = quoted; (c = strchr(c, '\''));)
        *c = '"';
    json_t *value = json_loads(quoted, JSON_ALLOW_NUL, NULL);
    if (!value)
        fail_msg("not JSON: %s", quoted);
    return value;
}

static void expect_view(const char *result_, const char *names_, const struct programview *view,
                        const char *expected)
{
    _cleanup_json_ json_t *result = read_json(result_), *names = read_json(names_);
    char *page = NULL;
    size_t length;
    FILE *out = open_memstream(&page, &length);
    assert_non_null(out);
    programview_put(out, result, names, view);
    (void)fclose(out);
    assert_string_equal(page, expected);
    for (char *line = page, *end; (end = strchr(line, '\n')); line = end + 1)
        assert_true(view->colour || (size_t)(end - line) <= view->columns);
    free(page);
}

#define USAGE "'usage': {'wall_clock_ms': 12, 'max_rss_bytes': 3565158}"
static const struct programview plain = {.columns = 80};

static void test_all_pass(void **state)
{
    (void)state;
    expect_view(
        "{'verdict': 'pass', 'compile': {'output': ''}, 'tests': [{'verdict': 'pass', " USAGE
        "}, {'verdict': 'pass', " USAGE "}]}",
        "['1', 'long-name']", &plain,
        "test         time      memory  verdict\n"
        "1            12ms     3.4 MiB  pass\n"
        "long-name    12ms     3.4 MiB  pass\n"
        "2 of 2 passed\n");
}

static void test_first_differences(void **state)
{
    (void)state;
    expect_view(
        "{'verdict': 'wrong_answer', 'tests': [{'verdict': 'wrong_answer', " USAGE
        ", 'difference': {'line': 3, 'got': '5 7', 'expected': '5 8'}},"
        " {'verdict': 'wrong_answer', " USAGE
        ", 'difference': {'line': 1, 'got': '', 'expected': 'x', 'why': 'the output ends too "
        "early'}}]}",
        "['1', '2']", &plain,
        "test    time      memory  verdict\n"
        "1       12ms     3.4 MiB  wrong answer\n"
        "    line 3\n"
        "    got       5 7\n"
        "    expected  5 8\n"
        "                ^\n"
        "2       12ms     3.4 MiB  wrong answer\n"
        "    line 1: the output ends too early\n"
        "    got       (nothing)\n"
        "    expected  x\n"
        "0 of 2 passed\n");
}

/* The marker stands beneath the first character that differs, whatever is shown before it. */
static void test_where_lines_differ(void **state)
{
    (void)state;
    expect_view("{'verdict': 'wrong_answer', 'tests': [{'verdict': 'wrong_answer', " USAGE
                ", 'difference': {'got': '\\u00e9\\t1 3  6', 'expected': '\\u00e9\\t1 3 6'}}, "
                "{'verdict': 'wrong_answer', " USAGE
                ", 'difference': {'got': 'a\\u00e9', 'expected': 'a\\u00e8'}}, {'verdict': "
                "'wrong_answer', " USAGE ", 'difference': {'got': 'ab', 'expected': 'abc'}}]}",
                "['1', '2', '3']", &plain,
                "test    time      memory  verdict\n"
                "1       12ms     3.4 MiB  wrong answer\n"
                "    \n"
                "    got       \xc3\xa9\\t1 3  6\n"
                "    expected  \xc3\xa9\\t1 3 6\n"
                "                     ^\n"
                "2       12ms     3.4 MiB  wrong answer\n"
                "    \n"
                "    got       a\xc3\xa9\n"
                "    expected  a\xc3\xa8\n"
                "               ^\n"
                "3       12ms     3.4 MiB  wrong answer\n"
                "    \n"
                "    got       ab\n"
                "    expected  abc\n"
                "                ^\n"
                "0 of 3 passed\n");
}

static void test_ends(void **state)
{
    (void)state;
    expect_view("{'verdict': 'runtime_error', 'tests': [{'verdict': 'runtime_error', " USAGE
                ", 'exit_code': 1, 'stderr': 'a\\nb\\nc\\nd\\ne\\nf\\n'}, {'verdict': "
                "'runtime_error', " USAGE ", 'signal': 11}, {'verdict': 'timeout', " USAGE
                ", 'signal': 9, 'limit_exceeded': 'wall_clock', 'stderr': 'one'}, {'verdict': "
                "'timeout', 'usage': {'wall_clock_ms': 1900, 'max_rss_bytes': 3565158, "
                "'cpu_wait_ms': 1400}, 'limit_exceeded': 'wall_clock'}]}",
                "['1', '2', '3', '4', '5']", &plain,
                "test    time      memory  verdict\n"
                "1       12ms     3.4 MiB  runtime error\n"
                "    exit status 1\n"
                "    ...\n"
                "    b\n"
                "    c\n"
                "    d\n"
                "    e\n"
                "    f\n"
                "2       12ms     3.4 MiB  runtime error\n"
                "    signal 11 (SIGSEGV)\n"
                "3       12ms     3.4 MiB  timeout\n"
                "    limit exceeded: wall_clock\n"
                "    one\n"
                "4       1.9s     3.4 MiB  timeout\n"
                "    limit exceeded: wall_clock\n"
                "    it waited 1.4s for a CPU, which does not count\n"
                "1 test behind the first failure not run; --all runs all\n"
                "0 of 5 passed\n");
}

static void test_compile_error(void **state)
{
    (void)state;
    expect_view("{'verdict': 'compile_error', 'compile': {'output': 'main.cpp:1:\\n\\t^ "
                "\\u001b[31mbad\\u0007'}, 'tests': []}",
                "['1', '2']", &plain,
                "main.cpp:1:\n"
                "\t^ \\x1b[31mbad\\x07\n"
                "compile error\n"
                "0 of 2 passed\n");
}

/* A program's output, its standard error and a test's name reach the terminal as text. */
static void test_terminal_obeys_nothing(void **state)
{
    (void)state;
    expect_view(
        "{'verdict': 'wrong_answer', 'tests': [{'verdict': 'wrong_answer', " USAGE
        ", 'exit_code': 3, 'stderr': '\\u001b]0;t\\u0007\\r', 'difference': {'line': 1, 'got': "
        "'\\u001b[2J\\u0000', 'expected': '\\u009b1m'}}]}",
        "['\\u001b[5m']", &plain,
        "test       time      memory  verdict\n"
        "\\x1b[5m    12ms     3.4 MiB  wrong answer\n"
        "    line 1\n"
        "    got       \\x1b[2J\\x00\n"
        "    expected  \\u009b1m\n"
        "    exit status 3\n"
        "    \\x1b]0;t\\x07\\r\n"
        "0 of 1 passed\n");
}

static void test_long_lines_are_cut(void **state)
{
    (void)state;
    static const struct programview narrow = {.columns = 40};
    expect_view(
        "{'verdict': 'wrong_answer', 'tests': [{'verdict': 'wrong_answer', " USAGE
        ", 'difference': {'line': 1, 'got': '0123456789012345678901234567890123456789', "
        "'expected': '1', 'why': 'the line is not as expected, nor are all of its words the same "
        "numbers'}}]}",
        "['a-name-that-is-too-long-for-forty-columns']", &narrow,
        "test    time      memory  verdict\n"
        "a...    12ms     3.4 MiB  wrong answer\n"
        "    line 1: the line is not as expected,\n"
        "    nor are all of its words the same\n"
        "    numbers\n"
        "    got       01234567890123456789012...\n"
        "    expected  1\n"
        "0 of 1 passed\n");
}

static void test_colours(void **state)
{
    (void)state;
    static const struct programview coloured = {.columns = 80, .colour = true};
    expect_view("{'verdict': 'timeout', 'tests': [{'verdict': 'pass', " USAGE
                "}, {'verdict': 'timeout', " USAGE "}]}",
                "['1', '2']", &coloured,
                "test    time      memory  verdict\n"
                "1       12ms     3.4 MiB  \033[32mpass\033[0m\n"
                "2       12ms     3.4 MiB  \033[31mtimeout\033[0m\n"
                "1 of 2 passed\n");
}

/* The compiler speaks of the file that the daemon has written, and the user's has another name. */
static void test_users_name(void **state)
{
    static const struct {
        const char *source, *output, *shown;
    } cases[] = {
        {"a/sol.c", "main.c:1:2: error\nIn main.c: x\n", "a/sol.c:1:2: error\nIn a/sol.c: x\n"},
        {"sol.c", "/work/main.c:3: in 'main.c'", "sol.c:3: in 'sol.c'\n"},
        {"sol.c", "domain.c main.cc main.cpp xmain.c main.c.o",
         "domain.c main.cc main.cpp xmain.c main.c.o\n"},
        {"sol.cc", "main.cpp:1: no", "sol.cc:1: no\n"},
        {"sol.java", "Main.java:1: no", "Main.java:1: no\n"},
        {NULL, "main.c:1: no", "main.c:1: no\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct programview view = {.columns = 80, .source = cases[i].source};
        _cleanup_free_ char *page = NULL, *expected = NULL;
        _cleanup_json_ json_t *json = json_pack("{s:s,s:[],s:{s:s}}", "verdict", "compile_error",
                                                "tests", "compile", "output", cases[i].output);
        _cleanup_json_ json_t *names = json_array();
        assert_true(asprintf(&expected, "%scompile error\n0 of 0 passed\n", cases[i].shown) > 0);
        size_t length;
        FILE *out = open_memstream(&page, &length);
        assert_non_null(out);
        assert_non_null(json);
        programview_put(out, json, names, &view);
        (void)fclose(out);
        assert_string_equal(page, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_users_name),
        cmocka_unit_test(test_all_pass),
        cmocka_unit_test(test_first_differences),
        cmocka_unit_test(test_where_lines_differ),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_compile_error),
        cmocka_unit_test(test_terminal_obeys_nothing),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
