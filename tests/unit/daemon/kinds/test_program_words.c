/* SPDX-License-Identifier: MIT */
/* The line by which a program that failed, or a compiler, says why: texts as runtimes write them.
 */
#include "daemon/kinds/program.h"
#include "tests/unit/quoted.h"

#include <string.h>

static void assert_words(const char *text, bool is_compiler, const char *expected)
{
    char words[PROGRAM_WORDS_MAX];
    _cleanup_free_ char *exact = strdup(text); /* a sanitizer sees what is read behind its end */
    const struct bytes bytes = {.data = exact, .length = strlen(text)};
    assert_non_null(exact);
    program_words(&bytes, is_compiler, words);
    assert_string_equal(words, expected);
}

static void test_runtimes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", ""},
        {"\n \n", ""},
        {"\nfirst line\nsecond line\n", "first line"},
        {"Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\n    1 / 0\n"
         "ZeroDivisionError: division by zero\n",
         "ZeroDivisionError: division by zero"},
        {"Traceback (most recent call last):\n  File \"m.py\", line 1\nValueError: a\nb\n c\n",
         "ValueError: a"},
        {"Traceback (most recent call last):\n  x\nKeyError: 1\n\nDuring handling of the above "
         "exception, another exception occurred:\n\nTraceback (most recent call last):\n  y\n"
         "Unlucky\n",
         "Unlucky"},
        {"FAIL: test_a (__main__.T)\n-----\nTraceback (most recent call last):\n  File \"m.py\"\n"
         "AssertionError: 1 != 2\n\n-----\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n",
         "AssertionError: 1 != 2"},
        {"  File \"/work/main.py\", line 1\n    def f(:\n          ^\nSyntaxError: invalid "
         "syntax\n",
         "SyntaxError: invalid syntax"},
        {"node:assert:90\n  throw new AssertionError(obj);\n  ^\n\nAssertionError [ERR_ASSERTION]: "
         "Expected values to be strictly equal:\n\n-1 !== 3\n\n    at Object.<anonymous> "
         "(/work/main.js:3:8)\n  code: 'ERR_ASSERTION',\n}\n\nNode.js v20.20.2\n",
         "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: -1 !== 3"},
        {"/work/main.js:3\nfoo(1)\n^\n\nReferenceError: foo is not defined\n    at "
         "Object.<anonymous> "
         "(/work/main.js:3:1)\n",
         "ReferenceError: foo is not defined"},
        {"/work/main.js:11\nlet y = = 2;\n        ^\n\nSyntaxError: Unexpected token '='\n    at "
         "wrapSafe (node:internal/modules/cjs/loader:1464:18)\n",
         "SyntaxError: Unexpected token '='"},
        {"\n/work/main.js:1\nthrow \"text\"\n^\ntext\n", "throw \"text\""},
        {"Exception in thread \"main\" java.lang.RuntimeException: outer\n\tat "
         "Main.main(Main.java)\n"
         "Caused by: java.lang.ArithmeticException: / by zero\n\tat Main.f(Main.java)\n",
         "Caused by: java.lang.ArithmeticException: / by zero"},
        {"OpenJDK 64-Bit Server VM warning: no more\nException in thread \"main\" "
         "java.util.NoSuchElementException\n\tat Main.main(Main.java)\n",
         "Exception in thread \"main\" java.util.NoSuchElementException"},
        {"\nUnhandled Exception:\nSystem.IndexOutOfRangeException: Index was outside.\n  at M.Main "
         "()\n",
         "System.IndexOutOfRangeException: Index was outside."},
        {"core.exception.ArrayIndexError@main.d(1): index [5] is out of bounds\n--------\n??:? x\n",
         "core.exception.ArrayIndexError@main.d(1): index [5] is out of bounds"},
        {"main.rb:2:in `f': undefined method `foo' for 3:Integer (NoMethodError)\n\n x.foo\n  "
         "^^^^\n",
         "main.rb:2:in `f': undefined method `foo' for 3:Integer (NoMethodError)"},
        {"seen 3\npanic: runtime error: index out of range [5]\n\ngoroutine 1 [running]:\n",
         "panic: runtime error: index out of range [5]"},
        {"\nthread 'main' (5772) panicked at main.rs:1:90:\nindex out of bounds: the len is "
         "0\nnote: "
         "run with `RUST_BACKTRACE=1`\n",
         "thread 'main' (5772) panicked at main.rs:1:90: index out of bounds: the len is 0"},
        {"terminate called after throwing an instance of 'std::out_of_range'\n  what():  at 3\n",
         "terminate called after throwing an instance of 'std::out_of_range' what():  at 3"},
        {"main: main.cpp:2: int main(): Assertion `1==2' failed.\n",
         "main: main.cpp:2: int main(): Assertion `1==2' failed."},
        {"lua: main.lua:1: attempt to index a nil value (field 'y')\nstack "
         "traceback:\n\tmain.lua:1\n",
         "lua: main.lua:1: attempt to index a nil value (field 'y')"},
        {"Error in f(3) : bad value\nExecution halted\n", "Error in f(3) : bad value"},
        {"a warning of somebody\n", "a warning of somebody"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_words(cases[i].text, false, cases[i].expected);
}

static void test_compilers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"main.c: In function 'main':\nmain.c:1:21: error: 'foo' undeclared\n    1 | int main()\n",
         "main.c:1:21: error: 'foo' undeclared"},
        {"main.c:1:1: warning: an error is near\nmain.c:2:1: error: here\n",
         "main.c:2:1: error: here"},
        {"[1 of 1] Compiling Main\n\nmain.hs:1:15: error:\n    * Couldn't match type\n      "
         "Expected: "
         "Int\n  |\n1 | main = print\n",
         "main.hs:1:15: error: * Couldn't match type Expected: Int"},
        {"File \"main.ml\", line 1, characters 19-22:\n1 | let () = print_int \"a\"\n       "
         "^^^\nError: "
         "This expression has type string\n         int\n",
         "Error: This expression has type string"},
        {"# command-line-arguments\n./main.go:2:36: undefined: b\n",
         "./main.go:2:36: undefined: b"},
        {"main.pas(1,7) Error: Identifier not found \"x\"\nmain.pas(2) Fatal: errors\n",
         "main.pas(1,7) Error: Identifier not found \"x\""},
        {"main.y: no\n", "main.y: no"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_words(cases[i].text, true, cases[i].expected);
}

/* Whatever was written, it is one line that fits. */
static void test_bounds(void **state)
{
    (void)state;
    char words[PROGRAM_WORDS_MAX], text[3000];
    static const char heading[7] = "Error:\n"; /* without a NUL */
    for (size_t n = 0; n < sizeof(text); n += 97) {
        memset(text, 'x', n);
        for (size_t i = 0; i + 1 < n; i += 3) {
            text[i] = '\xc3';
            text[i + 1] = '\xa9';
        }
        for (size_t i = 0; i < MIN(n, sizeof(heading)); i++)
            text[i] = heading[i];
        const struct bytes bytes = {.data = text, .length = n};
        program_words(&bytes, n % 2 == 0, words);
        assert_true(strlen(words) <= 300 && !strchr(words, '\n'));
        assert_true(n < 400 || strlen(words) > 290);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runtimes),
        cmocka_unit_test(test_compilers),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
