/* SPDX-License-Identifier: MIT */
#include "conf/layout.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *text, bool prose, size_t columns, const char *expected)
{
    char *shown = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&shown, &length);
    assert_non_null(out);
    layout_put(out, text, prose, columns);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(shown, expected);
    free(shown);
}

static void test_paragraphs_are_broken_anew(void **state)
{
    (void)state;
    check("one two\nthree\n\nfour\n", false, 20, "one two three\n\nfour\n");
    check("one two three\n", false, 9, "one two\nthree\n");
    check("no newline behind", false, 80, "no newline behind\n");
    check("", false, 80, "");
    check("\n\n", false, 80, "\n\n");
}

static void test_examples_stay_as_they_are(void **state)
{
    (void)state;
    check("Say:\n\n  {\"a\": 1,\n   \"b\": 2}\n\nor not.\n", false, 10,
          "Say:\n\n  {\"a\": 1,\n   \"b\": 2}\n\nor not.\n");
}

static void test_items_hang(void **state)
{
    (void)state;
    check("  0    well\n  130  it was interrupted\n       by you\n  More  text\n", false, 20,
          "  0    well\n  130  it was\n       interrupted\n       by you\n  More  text\n");
}

static void test_indented_prose(void **state)
{
    (void)state;
    check("  1    no\n  Where several apply:\n  the first.\n", true, 16,
          "  1    no\n  Where several\n  apply: the\n  first.\n");
}

static void test_columns_without_a_terminal(void **state)
{
    (void)state;
    FILE *out = tmpfile();
    assert_non_null(out);
    assert_int_equal(layout_columns(out), 80);
    (void)fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paragraphs_are_broken_anew),
        cmocka_unit_test(test_examples_stay_as_they_are),
        cmocka_unit_test(test_items_hang),
        cmocka_unit_test(test_indented_prose),
        cmocka_unit_test(test_columns_without_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
