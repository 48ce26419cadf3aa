/* SPDX-License-Identifier: MIT */
#include "proto/extraction.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A text that may contain NUL, and its length. */
#define TEXT(literal) (literal), sizeof(literal) - 1

/* Makes an allocation that is too large fail under AddressSanitizer as it does without. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

struct extraction_case {
    const char *text;
    size_t n;
    bool fenced;
    const char *code;
    size_t length;
};

#define BARE(text)                    \
    {                                 \
        TEXT(text), false, TEXT(text) \
    }
#define GIVES(text, code)            \
    {                                \
        TEXT(text), true, TEXT(code) \
    }

static void check_with(const char *const *tags, const struct extraction_case *cases, size_t count)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const struct extraction_case *c = &cases[i];
        struct bytes code;
        bool fenced;
        /* An allocation of the exact size, so that a sanitizer detects reads past it. */
        char *copy = malloc(c->n ? c->n : 1);
        assert_non_null(copy);
        memcpy(copy, c->text, c->n);
        assert_int_equal(extraction_find(copy, c->n, tags, &code, &fenced), 0);
        free(copy);
        if (fenced != c->fenced || code.length != c->length ||
            memcmp(code.data, c->code, c->length) != 0 || code.data[code.length] != '\0') {
            print_error("case %zu, of\n%s\ngives (%s)\n%s\nrather than (%s)\n%s\n", i, c->text,
                        fenced ? "fenced" : "bare", code.data, c->fenced ? "fenced" : "bare",
                        c->code);
            wrong++;
        }
        bytes_deinit(&code);
    }
    assert_int_equal(wrong, 0);
}

#define CHECK(cases) check_with(extraction_python_tags, (cases), ARRAY_SIZE(cases))

static void test_no_fence(void **state)
{
    static const struct extraction_case cases[] = {
        BARE(""),
        BARE("x = 1\n"),
        BARE("  x = 1\n  y = 2\n"), /* the body of a function keeps its indent */
        BARE(" \n\t\n"),
        BARE("a\0b"),
        BARE("`x` and ``y``\n"),
        BARE("~~x~~\n"),
        BARE("x = ~~y\r"),
        {TEXT("a\r\nb\r\n"), false, TEXT("a\nb\n")},
        {TEXT("a\r\r\nb\r"), false, TEXT("a\r\nb\r")},
    };
    (void)state;
    CHECK(cases);
}

static void test_opening(void **state)
{
    static const struct extraction_case cases[] = {
        GIVES("```\nx\n```\n", "x\n"),
        GIVES("```python\nx\n```", "x\n"),
        GIVES("   ```python\nx\n```", "x\n"),
        GIVES("\t```python\nx\n```", "x\n"),
        GIVES("say ```python\nx\n```", "x\n"),
        GIVES("say:```\nx\n```", "x\n"),
        GIVES("say ``` \t\nx\n```", "x\n"),
        GIVES("say ```{.python}\nx\n```", "x\n"),
        GIVES("1. ```python\n   x\n   ```", "x\n"),
        GIVES("``` python\nx\n```", "x\n"),
        GIVES("```python\r\nx\r\n```\r\n", "x\n"),
        GIVES("\xEF\xBB\xBF```python\nx\n```", "x\n"),
        GIVES("```````\nx\n```````\n", "x\n"),
        GIVES("``` ...\nx\n```\n", "x\n"),
        /* not behind text with something else behind it */
        BARE("say ``` please\nx = 1\n"),
        BARE("say ```) please\nx = 1\n"),
        BARE("fence = '```'\nx = 1\n"),
        GIVES("say ``` please\n```python\nx\n```\n", "x\n"),
        /* not two */
        BARE("``\nx\n``\n"),
    };
    (void)state;
    CHECK(cases);
}

static void test_tildes(void **state)
{
    static const struct extraction_case cases[] = {
        GIVES("~~~\nx\n~~~\n", "x\n"),
        GIVES("~~~python\nx\n~~~~\n", "x\n"),
        GIVES("say: ~~~python\nx\n~~~", "x\n"),
        GIVES("say:~~~\nx~~~", "x"),
        GIVES("~~~\nx\n```\ny\n~~~\n", "x\n```\ny\n"),
        GIVES("```\nx\n~~~\ny\n```\n", "x\n~~~\ny\n"),
        GIVES("~~~~\nx\n~~~\ny\n~~~~\n", "x\n~~~\ny\n"),
        BARE("Sure~~~\nx = 1\n"),
        BARE("9~~~\nx = 1\n"),
        BARE("\xE5\xA5\xBD~~~\nx = 1\n"),
        GIVES("Sure~~~ here:\n```\nx\n```\n", "x\n"),
        GIVES("Sure```\nx\n```\n", "x\n"), /* not an info string */
    };
    (void)state;
    CHECK(cases);
}

static void test_closing(void **state)
{
    static const struct extraction_case cases[] = {
        GIVES("```\nx\n```\nText\n", "x\n"),
        GIVES("```\nx\n   ```\nText\n", "x\n"),
        GIVES("```\nx\n        ```\nText\n", "x\n"),
        GIVES("```\nx\n``` \t \nText\n", "x\n"),
        GIVES("```\nx\n```\r", "x\n"),
        GIVES("```\nx\n`````\nText\n", "x\n"),
        GIVES("```\nx```\nText\n", "x"),
        GIVES("```\nx ```  \nText\n", "x "),
        GIVES("```\n  x`````\nText\n", "x"),
        GIVES("````\nx```\ny````\nText\n", "x```\ny"),
        GIVES("````\nx\n```\ny\n````\n", "x\n```\ny\n"),
        GIVES("`````\nx\n````\ny\n`````\n", "x\n````\ny\n"),
        /* A mark of a model's end may follow, whose name is of ASCII. */
        GIVES("```\nx\n```<|im_end|>\ny\n", "x\n"),
        GIVES("```\nx\n```<|\xC3\xA9|>\ny\n```\n", "x\n```<|\xC3\xA9|>\ny\n"),
        GIVES("```\nx\n```<|\xC3\xA9x|>\ny\n```\n", "x\n```<|\xC3\xA9x|>\ny\n"),
        /* not with something behind it */
        GIVES("```\nx\n``` then\ny\n```\n", "x\n``` then\ny\n"),
        GIVES("```\nx\n```.\ny\n```\n", "x\n```.\ny\n"),
        /* not as the end of a span */
        GIVES("```\nx # ```y```\nz\n```\n", "x # ```y```\nz\n"),
        GIVES("````\nx # ```y````\nText\n", "x # ```y"),
        /* not at all */
        GIVES("```python\nx\ny", "x\ny"),
        GIVES("```python\nx\n``", "x\n``"),
        GIVES("Text\n```\nx\n\n", "x\n\n"),
    };
    (void)state;
    CHECK(cases);
}

static void test_forgotten_closing(void **state)
{
    static const struct extraction_case cases[] = {
        GIVES("```\nText\n```python\nx\n```\n", "x\n"),
        GIVES("```json\n{}\n```python\nx\n```\n", "x\n"),
        GIVES("```python\nx\n  ```py\ny\n```\n", "x\n"),
        GIVES("```\n````python\nx\n````\n", "x\n"),
        /* not by a shorter fence, another character, another tag, or behind text */
        GIVES("````\nText\n```python\nx\n```\n````\n", "Text\n```python\nx\n```\n"),
        GIVES("~~~\nText\n```python\nx\n```\n~~~\n", "Text\n```python\nx\n```\n"),
        GIVES("```\nText\n```json\nx\n```\n", "Text\n```json\nx\n"),
        GIVES("```\nText\nso ```python\nx\n```\n", "Text\nso ```python\nx\n"),
        GIVES("```\nx\n```python y``` z\n```\n", "x\n```python y``` z\n"),
    };
    (void)state;
    CHECK(cases);
}

static void test_strings(void **state)
{
    static const struct extraction_case cases[] = {
        GIVES("```\n\"\"\"\n```\n\"\"\"\n```\nText\n", "\"\"\"\n```\n\"\"\"\n"),
        GIVES("```\n'''\n```\n'''\n```\nText\n", "'''\n```\n'''\n"),
        GIVES("```\n\"\"\"\n'''\n```\n\"\"\"\n```\n", "\"\"\"\n'''\n```\n\"\"\"\n"),
        GIVES("```\nf('''x```\n''')\n```\n", "f('''x```\n''')\n"),
        GIVES("```\n'''\n```python\n```\n'''\n```\n", "'''\n```python\n```\n'''\n"),
        /* a string that is already closed hides nothing */
        GIVES("```\n\"\"\"x\"\"\"\n```\n\"\"\"\n```\n", "\"\"\"x\"\"\"\n"),
        GIVES("```\n\"\"\"x\"\"\"```\n\"\"\"\n```\n", "\"\"\"x\"\"\""),
        /* nor do other quotes */
        GIVES("```\n\"\"\n```\n\"\"\n```\n", "\"\"\n"),
        GIVES("```\n\"''\n```\n\"''\n```\n", "\"''\n"),
        /* the fence counts if the string never ends */
        GIVES("```\n\"\"\"\n```\nText\n```\n", "\"\"\"\n"),
        GIVES("```\n\"\"\"\n```\n'''\n```\n", "\"\"\"\n"),
        GIVES("```\n\"\"\"\n```\n\"\"\"\n'''\n```\nz", "\"\"\"\n```\n\"\"\"\n'''\n"),
        GIVES("```\n\"\"\"\n```python\ny\n```\n", "y\n"),
        GIVES("```c\n'''\n```\n```\n\"\"\"\n```\n\"\"\"\n```\n", "\"\"\"\n```\n\"\"\"\n"),
        GIVES("```c\n'''\n```\n```\n\"\"\"\n```\nText", "\"\"\"\n"),
        GIVES("```\n'''\n```py '''\n\"\"\"\n```\n", "'''\n```py '''\n\"\"\"\n"),
        /* with no fence in it, a string that never ends is just content */
        GIVES("```\nx\n\"\"\"\n", "x\n\"\"\"\n"),
        /* strings outside of blocks hide nothing */
        GIVES("\"\"\"\n```\nx\n```\n\"\"\"\n", "x\n"),
    };
    (void)state;
    CHECK(cases);
}

static void test_one_line(void **state)
{
    static const struct extraction_case cases[] = {
        GIVES("```x = 1```", "x = 1"),
        GIVES("``` x = 1 ``` \n", "x = 1"),
        GIVES("So: ```x = 1````\nText\n", "x = 1"),
        GIVES("```Python x = 1```", "x = 1"),
        GIVES("~~~py x~~~", "x"),
        GIVES("```bash ls```", "bash ls"),
        GIVES("```python```", "python"),
        GIVES("```python ```", "python"),
        GIVES("```a```\n```b```\n", "a"),
        GIVES("```   ```\n```b```\n", "b"),
        /* the worst of all blocks */
        GIVES("```python a```\n```text\nx\n```\n", "x\n"),
        GIVES("```python a```\n```text\n\n```\n", "a"),
        /* only a code span */
        BARE("Call ```f``` so\n"),
        GIVES("````f```\n", "````f"), /* the second is a stray closing fence */
        GIVES("Call ```f``` so ```python\nx\n```\n", "x\n"),
        GIVES("Call ```` f ```python\nx\n```\n", "x\n"),
        GIVES("```f``` and ```g```", "g"),
    };
    (void)state;
    CHECK(cases);
}

static void test_tags(void **state)
{
    static const struct extraction_case cases[] = {
#define WANTED(info) GIVES("```\ny\n```\n```" info "\nx\n```\n", "x\n")
#define OTHER(info) GIVES("```" info "\nx\n```\n```\ny\n```\n", "y\n")
        WANTED("python"),
        WANTED("py"),
        WANTED("python3"),
        WANTED("py3"),
        WANTED("Python"),
        WANTED("PYTHON3"),
        WANTED("  python  "),
        WANTED("\tpython"),
        WANTED("python title=x"),
        WANTED("python:a.py"),
        WANTED("python,linenos"),
        WANTED("python{1,3}"),
        WANTED("{python}"),
        WANTED("{.python}"),
        WANTED("{ .python .x}"),
        WANTED("{python, echo=FALSE}"),
        WANTED(" {.Py3"),
        OTHER("text"),
        OTHER("pyth"),
        OTHER("python2"),
        OTHER("pycon"),
        OTHER("python-repl"),
        OTHER("python.x"),
        OTHER("x python"),
        OTHER("pythonx"),
        OTHER("python\xC3\xA9"),
        OTHER("sh"),
        OTHER(".python"),
        /* an info string without a word has no tag */
        GIVES("```c\nx\n```\n``` (1)\ny\n```\n```\nz\n```\n", "y\n"),
        GIVES("```c\nx\n```\n```{{py}}\ny\n```\n```\nz\n```\n", "y\n"),
    };
    (void)state;
    CHECK(cases);
}

static void test_choice(void **state)
{
#define P(tag) "```" tag "\n"
#define E "```\n"
    static const struct extraction_case cases[] = {
        GIVES(P("c") "a\n" E P("") "b\n" E P("python") "c\n" E P("py") "d\n" E, "c\n"),
        GIVES(P("c") "a\n" E P("") "b\n" E P("") "c\n" E, "b\n"),
        GIVES(P("c") "a\n" E P("d") "b\n" E, "a\n"),
        GIVES(P("py") "a\n" E P("python") "b\n" E, "a\n"),
        /* empty ones do not count */
        GIVES(P("python") E P("python") " \t\r\v\f\n\n" E P("py") "a\n" E, "a\n"),
        GIVES(P("python") "\n" E P("c") "a\n" E P("") "b\n" E, "b\n"),
        GIVES(P("python") "\n" E P("") "\n" E P("c") "a\n" E, "a\n"),
        GIVES(P("python") "\0" E P("py") "a\n" E, "\0"),
        /* if all are empty, the text has no code */
        {TEXT(P("python") E), false, TEXT("")},
        {TEXT("Text\n" P("python") "\n" E "Text\n"), false, TEXT("")},
        {TEXT(P("") E), false, TEXT("")},
        {TEXT("```"), false, TEXT("")},
        {TEXT(" \n```\n"), false, TEXT("")},
        {TEXT("Text\n```python"), false, TEXT("")},
    };
    (void)state;
    CHECK(cases);
}

static void test_other_tags(void **state)
{
    static const char *const none[] = {NULL};
    static const struct extraction_case shell[] = {
        GIVES(P("python") "a\n" E P("sh") "b\n" E, "b\n"),
        GIVES(P("python") "a\n" E P("Bash") "b\n" E, "b\n"),
        GIVES(P("python") "a\n" E P("shell") "b\n" E, "b\n"),
        GIVES(P("python") "a\n" E P("") "b\n" E, "b\n"),
        GIVES(P("python") "a\n" E P("c") "b\n" E, "a\n"),
        GIVES("```sh ls```", "ls"),
        BARE("I cannot do that.\n"),
    };
    static const struct extraction_case no_tags[] = {
        GIVES(P("python") "a\n" E P("") "b\n" E, "b\n"),
        GIVES(P("python") "a\n" E P("sh") "b\n" E, "a\n"),
    };
    (void)state;
    check_with(extraction_shell_tags, shell, ARRAY_SIZE(shell));
    check_with(none, no_tags, ARRAY_SIZE(no_tags));
}

static void test_stray_closing(void **state)
{
    static const struct extraction_case cases[] = {
        GIVES("x = 1\n```", "x = 1\n"),
        GIVES("x = 1\n```\n\n", "x = 1\n"),
        GIVES("x = 1```", "x = 1"),
        GIVES("x = 1 ```\n", "x = 1 "),
        GIVES("x = 1\n    ```\n", "x = 1\n"),
        GIVES("  x = 1\n  y = 2\n```\n", "  x = 1\n  y = 2\n"), /* unchanged */
        GIVES("x = 1\n~~~\n", "x = 1\n"),
        GIVES("x = 1\n```\n```\n", "x = 1\n"),
        GIVES("Text\n```\n", "Text\n"),
        /* with text behind it, if the text looks like prose and the code does not */
        GIVES("x = 1\n```\nText\n", "x = 1\n"),
        GIVES("x = 1\n```\n\n  **Text**\n", "x = 1\n"),
        GIVES("x = 1\n```\n## text\n", "x = 1\n"),
        GIVES("x = 1\n```\n\xE5\xA5\xBD\n", "x = 1\n"),
        GIVES("\n\nx = 1```\nText\n", "\n\nx = 1"),
        GIVES("x = 1\n```\nI\n", "x = 1\n"),
        GIVES("x = 1\n```\nA", "x = 1\n"),
        GIVES("NAME = 1\n```\nText\n", "NAME = 1\n"),
        GIVES("x = 1\n```\nN_ = 1\n", "N_ = 1\n"),
        GIVES("x = 1\n```\ny = 1\n", "y = 1\n"),
        GIVES("x = 1\n```\n# text\n", "# text\n"),
        GIVES("Text\n```\nText = 1\n", "Text = 1\n"),
        GIVES("\xE5\xA5\xBD\n```\nText = 1\n", "Text = 1\n"),
        /* not one with an end, a tag, or others beside it */
        GIVES("x = 1\n```\nText\n```\n", "Text\n"),
        GIVES("x = 1\n```text\nText\n", "Text\n"),
        GIVES("x = 1\n```\n```\n```\nText\n", "Text\n"),
        GIVES("x = 1\n```y```\n```\nText\n", "Text\n"),
        /* not without text before it */
        GIVES("```\nText\n", "Text\n"),
        GIVES(" \n```\nText\n", "Text\n"),
    };
    (void)state;
    CHECK(cases);
}

static void test_thoughts(void **state)
{
    static const struct extraction_case cases[] = {
        {TEXT("<think>a</think>x\n"), false, TEXT("x\n")},
        {TEXT("x<think>a</think>y<think>b\n</think>z"), false, TEXT("xyz")},
        GIVES("<think>\n```python\na\n```\n</think>\n```\nx\n```\n", "x\n"),
        {TEXT("\r<think>a</think>\n"), false, TEXT("\n")},
        {TEXT("<think></think>"), false, TEXT("")},
        {TEXT("<think>a\0b</think>c\0d"), false, TEXT("c\0d")},
        /* nested */
        {TEXT("<think>a<think>b</think>c</think>x"), false, TEXT("x")},
        {TEXT("x<think>a<think>b</think>c</think>y"), false, TEXT("xy")},
        {TEXT("<think>a<think>b</think>x"), false, TEXT("x")},
        {TEXT("<think>a<think>b</think>x<think>"), false, TEXT("x")},
        /* without an end */
        {TEXT("<think>a"), false, TEXT("")},
        {TEXT("x\n<think>\n```python\na\n```\n"), false, TEXT("x\n")},
        {TEXT("<think"), false, TEXT("<think")},
        /* without a start */
        {TEXT("a</think>x"), false, TEXT("x")},
        {TEXT("a</think>b</think>x"), false, TEXT("x")},
        {TEXT("<think>a</think>b</think>x"), false, TEXT("x")},
        GIVES("```\na\n```\n</think>```\nx\n```\n", "x\n"),
        {TEXT("x</think"), false, TEXT("x</think")},
        /* only mentioned */
        BARE("s.split('</think>')\n"),
        BARE("s.split(\"</think>\")\n"),
        BARE("until `</think>` comes"),
        BARE("'<think>' in s"),
        BARE("\"<think>\" in s"),
        BARE("the `<think>` tag"),
        BARE("re.sub(r'<think>.*?</think>\\s*', '', s)\n"),
        {TEXT("\"a\"</think>x"), false, TEXT("x")}, /* a thought may end with a quote */
        {TEXT("<think>'<think>' or '</think>'</think>x"), false, TEXT("x")},
        GIVES("a</think>```\nx\n```\n", "x\n"),
        /* other tags are text */
        BARE("<thinking>a</thinking>"),
        BARE("<Think>a</Think>"),
    };
    (void)state;
    CHECK(cases);
}

static void test_dedent(void **state)
{
    static const struct extraction_case cases[] = {
        GIVES("```\n  a\n  b\n```", "a\nb\n"),
        GIVES("```\n    a\n  b\n      c\n```", "  a\nb\n    c\n"),
        GIVES("```\n\ta\n\t\tb\n```", "a\n\tb\n"),
        GIVES("```\n  a\n\tb\n```", "  a\n\tb\n"),
        GIVES("```\n \ta\n  b\n```", "\ta\n b\n"),
        GIVES("```\n  a\n\n \n    \t\n  b\n```", "a\n\n\n\nb\n"),
        GIVES("```\na\n  \n```", "a\n\n"),
        GIVES("```\n  a\n  ", "a\n"),
        GIVES("```\n  a\n \v\n```", " a\n\v\n"),
        GIVES("```\n  a\n  \0\n```", "a\n\0\n"),
        GIVES("  ```\n  a\n    b\n  ```", "a\n  b\n"),
        GIVES("```\n  a\n  b```", "a\nb"),
    };
    (void)state;
    CHECK(cases);
}

/* 16 MiB, the most that a frame can contain. */
static void test_large(void **state)
{
    const size_t n = (size_t)16 << 20;
    char *text = malloc(n);
    struct bytes code;
    bool fenced;
    (void)state;
    assert_non_null(text);

    memset(text, '`', n);
    assert_int_equal(extraction_find(text, n, extraction_python_tags, &code, &fenced), 0);
    assert_false(fenced);
    assert_int_equal(code.length, 0);
    bytes_deinit(&code);

    memset(text, ' ', n);
    memcpy(text, "```\n", 4);
    text[n - 1] = 'x';
    assert_int_equal(extraction_find(text, n, extraction_python_tags, &code, &fenced), 0);
    assert_true(fenced);
    assert_string_equal(code.data, "x");
    bytes_deinit(&code);
    free(text);
}

static void test_out_of_memory(void **state)
{
    struct bytes code = {.data = NULL, .length = 7};
    bool fenced = true;
    volatile size_t n = SIZE_MAX / 2 - 4096;
    (void)state;
    assert_int_equal(extraction_find("", n, extraction_python_tags, &code, &fenced), -ENOMEM);
    assert_null(code.data);
    assert_int_equal(code.length, 7);
    assert_true(fenced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_fence),
        cmocka_unit_test(test_opening),
        cmocka_unit_test(test_tildes),
        cmocka_unit_test(test_closing),
        cmocka_unit_test(test_forgotten_closing),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_other_tags),
        cmocka_unit_test(test_stray_closing),
        cmocka_unit_test(test_thoughts),
        cmocka_unit_test(test_dedent),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
