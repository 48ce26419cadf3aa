/* SPDX-License-Identifier: MIT */
/* The class of a program, after which its file is named. */
#include "daemon/languages/source.h"
#include "tests/unit/scenario.h"

#include <string.h>

#define LONG_TEXT ((size_t)4 << 20)

static void assert_names(const char *code, const char *file_class, const char *file,
                         const char *run)
{
    struct source_names names;
    const struct bytes bytes = {.data = (char *)(uintptr_t)code, .length = strlen(code)};
    source_read(&bytes, file_class, &names);
    assert_string_equal(names.file, file);
    assert_string_equal(names.run, run);
}

/* The class gives its name to the file, and is run. */
static void assert_class(const char *code, const char *expected)
{
    assert_names(code, "", expected, expected);
}

static void test_public(void **state)
{
    (void)state;
    assert_names("class A { void main() {} } public class B {}", "", "B", "A");
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
    assert_class(
        "class A { static void main(Scanner s) {} } class B { static void main(String... a) {} }",
        "B");
    assert_class("class A { static void main() {} static void main(final java.lang.String[] a) {} "
                 "} class B {}",
                 "A");
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
        struct source_names names;
        for (size_t at = 0; at < LONG_TEXT; at++)
            text[at] = parts[i][at % n];
        text[0] = i == 0 ? '\'' : text[0];
        source_read(&bytes, "", &names);
        assert_true(strlen(names.file) > 0);
        assert_true(strlen(names.run) > 0);
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

#define JAVA_MAIN " { public static void main(String[] a) {} }"

static void test_public_without_main(void **state)
{
    (void)state;
    assert_names("public class Node { int x; } class Main" JAVA_MAIN, "", "Node", "Main");
    assert_names("class Main" JAVA_MAIN " public class Node { int x; }", "", "Node", "Main");
    assert_names("public interface I {} class Main" JAVA_MAIN, "", "I", "Main");
    assert_names("class A" JAVA_MAIN " public class B" JAVA_MAIN, "", "B", "B");
    assert_names("public class Node {} class A" JAVA_MAIN " class B" JAVA_MAIN, "", "Node", "A");
    /* These mains are called, or are nothing that Java runs. */
    assert_class("class A { void f() { Main.main(null); } } class Main" JAVA_MAIN, "Main");
    assert_class("class A { static int main(int x) { return x; } } class B" JAVA_MAIN, "B");
    assert_class("class A { void main(int x) {} } class B" JAVA_MAIN, "B");
    assert_class("class A { class I" JAVA_MAIN " } class B" JAVA_MAIN, "B");
    /* A compact source file is the class that its name says. */
    assert_class("class Node {} void main() {}", "Main");
}

static void test_packages(void **state)
{
    (void)state;
    assert_names("package x; public class A" JAVA_MAIN, "", "A", "x.A");
    assert_names("/* A */ package a . b\n.c; class A {}", "", "A", "a.b.c.A");
    assert_names("package a\npackage b\nobject Go extends App", "", "Go", "a.b.Go");
    assert_names("package a { object Go { def main(a: Array[String]) = 1 } }", "", "Go", "a.Go");
    assert_names("package object p {}\nobject Go extends Base with App", "", "Go", "Go");
    assert_names("package ../x; class A {}", "", "A", "A");
    assert_names("package -x; class A {}", "", "A", "A");
}

static void test_kotlin(void **state)
{
    (void)state;
    assert_names("fun main() {}", "MainKt", "MainKt", "MainKt");
    assert_names("class A(val x: Int)\nfun main() = f()", "MainKt", "MainKt", "MainKt");
    assert_names("package a.b\nfun main() {}", "MainKt", "MainKt", "a.b.MainKt");
    assert_names("@file:JvmName(\"X\")\npackage a\nfun main() {}", "MainKt", "X", "a.X");
    assert_names("@file:Suppress(\"y\") @file : JvmName ( \"X\" )\nfun main() {}", "MainKt", "X",
                 "X");
    assert_names("@JvmName(\"g\") fun f() {}\nfun main() {}", "MainKt", "MainKt", "MainKt");
    assert_names("object Go { @JvmStatic fun main(a: Array<String>) {} }", "MainKt", "Go", "Go");
    assert_names("class Go { companion object { @JvmStatic fun main(a: Array<String>) {} } }",
                 "MainKt", "Go", "Go");
    assert_names("object Go { @JvmStatic fun main() {} }\nfun main() {}", "MainKt", "MainKt",
                 "MainKt");
    /* A quote in a template hides a brace: what looks like a class's main is none. */
    assert_names("class A { val s = \"${x.f(\"{\")}\" }\nfun main() {}", "MainKt", "MainKt",
                 "MainKt");
}

/* No name leaves the work directory or is an option. */
static void test_foreign_letters(void **state)
{
    (void)state;
    assert_class("public class Größe" JAVA_MAIN, "Größe");
    assert_class("public class 数" JAVA_MAIN, "数");
    assert_names("package größe; class A {}", "", "A", "größe.A");
    assert_class("\xEF\xBB\xBFpublic class A {} class B {}", "A");
    assert_class("class \xC3 {}", "Main");
    assert_class("class \xC3\x28 {}", "Main");
    assert_class("class A\xFF {}", "Main");
    assert_class("class ../x {} class -y {}", "Main");
    assert_names("@file:JvmName(\"../x\")", "MainKt", "MainKt", "MainKt");
    assert_names("@file:JvmName(\"-x\")", "MainKt", "MainKt", "MainKt");
    assert_names("@file:JvmName(\"1\")", "MainKt", "MainKt", "MainKt");
    assert_names("@file:JvmName(\"x", "MainKt", "MainKt", "MainKt");
}

static void test_long_packages(void **state)
{
    char code[SOURCE_PACKAGE_MAX * 4] = "package a";
    struct source_names names;
    (void)state;
    for (size_t i = 0; i < SOURCE_PACKAGE_MAX; i++)
        strcat(code, ".a");
    strcat(code, "; class A {}");
    const struct bytes bytes = {.data = code, .length = strlen(code)};
    source_read(&bytes, "", &names);
    assert_true(strlen(names.run) < SOURCE_PACKAGE_MAX + 2);
    assert_string_equal(names.file, "A");
}

static void test_names_of_files(void **state)
{
    static char code[] = "public class Hi {}";
    static char java[] = "{class}.java", c[] = "main.c";
    const struct bytes bytes = {.data = code, .length = sizeof(code) - 1};
    static char none[] = "";
    struct language language = {.source = java, .file_class = none};
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
        cmocka_unit_test(test_public_without_main),
        cmocka_unit_test(test_packages),
        cmocka_unit_test(test_kotlin),
        cmocka_unit_test(test_foreign_letters),
        cmocka_unit_test(test_long_packages),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_names_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
