/* SPDX-License-Identifier: MIT */
#include "client/grade/langname.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(langname_of("C++"), "cpp");
    assert_string_equal(langname_of("js"), "javascript");
    assert_string_equal(langname_of("sh"), "bash");
    assert_string_equal(langname_of("go_test.go"), "go");
    assert_string_equal(langname_of("befunge"), "befunge");
    assert_string_equal(langname_title("rs"), "Rust");
    assert_string_equal(langname_title("befunge"), "befunge");
    assert_null(langname_find(""));
}

static ssize_t defines(const char *language, const char *text)
{
    return langname_defines(language, text, strlen(text), "f");
}

/* A call of the function, as a recursive completion has it, is no definition. */
static void test_definitions(void **state)
{
    (void)state;
    assert_int_equal(defines("cpp", "#include <x>\nstd::vector<int> f(int a, g (*b)())\n{"), 13);
    assert_int_equal(defines("cpp", "    if (f(1)) {\n        return f(2);\n    }\n}"), -1);
    assert_int_equal(defines("cpp", "int f(int a);"), -1);
    assert_int_equal(defines("cpp", "int ff(int a) { return 1; }"), -1);
    assert_int_equal(defines("java", "  public int f(int a) throws X, Y {"), 0);
    assert_int_equal(defines("go", "  if f(1) {\n}"), -1);
    assert_int_equal(defines("go", "// f\nfunc f(a int) int {"), 5);
    assert_int_equal(defines("rust", "fn f<T>(a: T) {"), 0);
    assert_int_equal(defines("javascript", "const f = (a) => {"), 0);
    assert_int_equal(defines("javascript", "  return f(a - 1);\n}\nconst g = 1;"), -1);
    assert_int_equal(defines("lua", "local function f(a)"), 0);
    assert_int_equal(defines("bash", "    f \"$1\"\n}"), -1);
    assert_int_equal(defines("bash", "f() {"), 0);
    assert_int_equal(langname_defines("cpp", "int f() {", 9, ""), -1);
}

/* What a sample makes us look at is bounded: this takes no time that grows with its square. */
static void test_nested(void **state)
{
    enum { N = 1 << 18 };
    static char text[2 * N];
    (void)state;
    for (size_t i = 0; i < N; i++)
        memcpy(text + 2 * i, "f(", 2);
    assert_int_equal(langname_defines("cpp", text, sizeof(text), "f"), -1);
}

static void test_words(void **state)
{
    static const struct {
        const char *words, *name;
    } rows[] = {
        {"cpp", "cpp"},
        {"GNU C++17", "cpp"},
        {"C++ (GCC 13.2)", "cpp"},
        {"GNU C11", "c"},
        {"go 1.19", "go"},
        {"Python (PyPy 3.10)", "python"},
        {"go_test.go", "go"},
        {"Java-21", "java"},
        {"MS C#", "csharp"},
        {"English", NULL},
        {"", NULL},
        {"17", NULL},
        {"  ( ", NULL},
        {"en-GB", NULL},
        {"javascripts javascript", "javascript"},
        {"PyPy", NULL},
        {"a-very-long-word-that-is-no-tag", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct langname *found = langname_in(rows[i].words);
        assert_int_equal(found != NULL, rows[i].name != NULL);
        if (found)
            assert_string_equal(found->name, rows[i].name);
    }
}

static void test_extract(void **state)
{
    static const char answer[] = "Like this:\n```python\nx\n```\nor this:\n```C++\nint y;\n```\n";
    _cleanup_bytes_ struct bytes code = BYTES_NULL, other = BYTES_NULL;
    (void)state;
    assert_int_equal(langname_extract("cpp", answer, strlen(answer), &code), 0);
    assert_string_equal(code.data, "int y;\n");
    assert_int_equal(langname_extract("befunge", answer, strlen(answer), &other), 0);
    assert_string_equal(other.data, "x\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_nested),  cmocka_unit_test(test_words),
        cmocka_unit_test(test_extract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
