/* SPDX-License-Identifier: MIT */
/* The class of a program, after which its file is named. */
#include "daemon/languages/source.h"
#include "tests/unit/scenario.h"

#include <string.h>

#define LONG_TEXT ((size_t)4 << 20)

static void assert_class(const char *code, const char *expected)
{
    char name[SOURCE_CLASS_MAX];
    const struct bytes bytes = {.data = (char *)(uintptr_t)code, .length = strlen(code)};
    source_class(&bytes, name);
    assert_string_equal(name, expected);
}

static void test_public(void **state)
{
    (void)state;
    assert_class("class A { void main() {} } public class B {}", "B");
    assert_class("public abstract class B {}", "B");
    assert_class("public final strictfp class B<T> extends C<T> {}", "B");
    assert_class("public interface I {}", "I");
    assert_class("public enum E { X }", "E");
    assert_class("public record R(int a) {}", "R");
    assert_class("import java.util.*;\n@SuppressWarnings(\"x\")\npublic class S {}", "S");
    /* Inner classes are not the file's. */
    assert_class("class A { public class B {} static void main(String[] a) {} }", "A");
    assert_class("public class A { public class B {} } public class C {}", "A");
}

static void test_main(void **state)
{
    (void)state;
    assert_class("class A {} class B { static void main(String[] a) {} }", "B");
    assert_class("class A { int main; } class B { static void main (String[] a) {} }", "B");
    assert_class("object Run { def main(a: Array[String]): Unit = {} }", "Run");
    assert_class("case class P(x: Int)\nobject Go extends App { println(1) }", "Go");
    assert_class("class A {} class B {}", "A");
    assert_class("", "Main");
    assert_class("int x = 1;", "Main");
    assert_class("class", "Main");
    assert_class("class 1;", "Main");
}

static void test_comments_and_strings(void **state)
{
    (void)state;
    assert_class("// public class X\nclass A {}", "A");
    assert_class("/* public class X */ class A {}", "A");
    assert_class("class A { String s = \"} public class X {\"; }", "A");
    assert_class("class A { String s = \"\\\"}\"; } public class B {}", "B");
    assert_class("class A { char c = '}', d = '\\'', e = '\"'; } public class B {}", "B");
    assert_class("class A { String s = \"\"\"\n } \" public class X { \"\"\"; } public class B {}",
                 "B");
    assert_class("object A { val s = 'symbol } object B { def main(a: Int) = 1 }", "B");
    /* What never ends hides the rest. */
    assert_class("class A {} /* class B { void main() {} }", "A");
    assert_class("class A { String s = \"", "A");
    assert_class("class A { char c = '\\", "A");
}

/* Each text repeats a part of which the end is looked for in vain. A search from each would take
 * hours, which is more than the time of a test. */
static void test_long_texts(void **state)
{
    static const char *const parts[] = {
        "\\'",    "'",    "\"",       "'\\",      "/*",         "/* ",       "//",
        "\"\"\"", "main", "main ",    "main/**/", "class ",     "class/**/", "extends ",
        "{",      "}",    "package ", "package.", "package a.", "@",         "\n",
    };
    char *text = malloc(LONG_TEXT);
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        size_t n = strlen(parts[i]);
        const struct bytes bytes = {.data = text, .length = LONG_TEXT};
        char name[SOURCE_CLASS_MAX];
        for (size_t at = 0; at < LONG_TEXT; at++)
            text[at] = parts[i][at % n];
        text[0] = i == 0 ? '\'' : text[0];
        source_class(&bytes, name);
        assert_true(strlen(name) > 0);
    }
    free(text);
}

static void test_long_names(void **state)
{
    char code[SOURCE_CLASS_MAX * 2];
    (void)state;
    (void)snprintf(code, sizeof(code), "public class %0*d {}", SOURCE_CLASS_MAX, 0);
    memcpy(code + 13, "AAAA", 4);
    assert_class(code, "Main");
}

static void test_names_of_files(void **state)
{
    static char code[] = "public class Hi {}";
    static char java[] = "{class}.java", c[] = "main.c";
    const struct bytes bytes = {.data = code, .length = sizeof(code) - 1};
    struct language language = {.source = java};
    char *source, *name;
    (void)state;
    assert_int_equal(language_source_name(&language, &bytes, &source, &name), 0);
    assert_string_equal(source, "Hi.java");
    assert_string_equal(name, "Hi");
    free(source);
    free(name);
    language.source = c;
    assert_int_equal(language_source_name(&language, &bytes, &source, &name), 0);
    assert_string_equal(source, "main.c");
    free(source);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public),
        cmocka_unit_test(test_main),
        cmocka_unit_test(test_comments_and_strings),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_names_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
