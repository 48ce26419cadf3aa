/* SPDX-License-Identifier: MIT */
#include "client/terminal/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_duration(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "0 ms"},
        {999, "999 ms"},
        {1000, "1.0 s"},
        {59999, "59.9 s"},
        {60000, "1 min 00 s"},
        {133000, "2 min 13 s"},
        {3600000, "1 h 00 min"},
        {86399000, "23 h 59 min"},
        {INT64_C(273600000), "3 d 4 h"},
        {INT64_MAX, "106751991167 d 7 h"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char out[TEXT_QUANTITY_MAX];
        assert_string_equal(text_duration(cases[i].ms, out), cases[i].text);
    }
}

/* Never more than six characters. */
static void test_brief(void **state)
{
    static const struct {
        double ms;
        const char *text;
    } durations[] = {
        {-1, "0.00ms"},       {0.046, "0.05ms"},   {0.994, "0.99ms"},   {0.996, "1.0ms"},
        {9.94, "9.9ms"},      {9.96, "10ms"},      {999.4, "999ms"},    {999.6, "1.0s"},
        {59990, "59.9s"},     {60000, "1m00s"},    {3599999, "59m59s"}, {3600000, "1h00m"},
        {86399999, "23h59m"}, {86400000, "1d00h"}, {8.64e9, "100d"},    {1e300, "99999d"},
    };
    static const struct {
        double count;
        const char *text;
    } counts[] = {
        {0, "0"},          {999999, "999999"},  {999999.5, "1.0M"},
        {1740000, "1.7M"}, {123456789, "123M"}, {1e9, "1.0G"},
        {5e16, "50.0P"},   {1e300, "99999P"},
    };
    char out[TEXT_QUANTITY_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
        assert_string_equal(text_brief_duration(durations[i].ms, out), durations[i].text);
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        assert_string_equal(text_brief_count(counts[i].count, out), counts[i].text);
    for (double value = 1e-3; value < 1e30; value *= 1.01) {
        assert_true(strlen(text_brief_duration(value, out)) <= 6);
        assert_true(strlen(text_brief_count(value, out)) <= 6);
    }
}

static void test_size(void **state)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {12595, "12.3 KiB"},
        {1 << 26, "64.0 MiB"},
        {INT64_C(5) << 40, "5.0 TiB"},
        {INT64_C(5) << 50, "5120.0 TiB"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char out[TEXT_QUANTITY_MAX];
        assert_string_equal(text_size(cases[i].bytes, out), cases[i].text);
    }
}

static char *put(const char *text, size_t n)
{
    char *written = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&written, &length);
    text_put(out, text, n);
    (void)fclose(out);
    return written;
}

static void assert_put(const char *text, size_t n, const char *expected)
{
    char *written = put(text, n);
    assert_string_equal(written, expected);
    free(written);
}

static void test_control_characters(void **state)
{
    (void)state;
    assert_put("plain \xC3\xA4 \xF0\x9F\x98\x80", 13, "plain \xC3\xA4 \xF0\x9F\x98\x80");
    assert_put("a\n\r\tb", 5, "a\\n\\r\\tb");
    assert_put("\x1B[31m\x7F\0", 7, "\\x1b[31m\\x7f\\x00");
    assert_put("\xC2\x9B"
               "31m\xC2\xA0",
               7, "\\u009b31m\xC2\xA0");
    assert_put("cut \xE2\x82", 6, "cut \xEF\xBF\xBD");
    assert_put("\xE2\x80\xAE", 3, "\\u202e");
    assert_put("", 0, "");
}

static void assert_fit(const char *text, size_t columns, const char *expected, size_t used)
{
    char *written = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&written, &length);
    assert_int_equal(text_put_fit(out, text, columns), used);
    (void)fclose(out);
    assert_string_equal(written, expected);
    free(written);
}

static void test_fit(void **state)
{
    (void)state;
    assert_fit("exact", 5, "exact", 5);
    assert_fit("longer", 5, "lo...", 5);
    assert_fit("\xC3\xA4\xC3\xB6\xC3\xBC", 3, "\xC3\xA4\xC3\xB6\xC3\xBC", 3);
    assert_fit("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F", 3, "...", 3);
    assert_fit("\xE6\xBC\xA2\xE5\xAD\x97", 4, "\xE6\xBC\xA2\xE5\xAD\x97", 4);
    assert_fit("\xE6\xBC\xA2\xE5\xAD\x97\xE5\xAD\x97", 5, "\xE6\xBC\xA2...", 5);
    assert_fit("e\xCC\x81", 1, "e\xCC\x81", 1);
    assert_fit("ab\x1B[1mx", 7, "ab...", 5); /* an escape is not cut in two */
    assert_fit(NULL, 5, "?", 1);
    assert_fit("abcd", 2, "", 0);
}

static void assert_tail(const char *text, size_t lines, size_t bytes, const char *expected)
{
    size_t n;
    const char *tail = text_tail(text, strlen(text), lines, bytes, &n);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(tail, expected, n);
}

static void test_tail(void **state)
{
    (void)state;
    assert_tail("", 3, 10, "");
    assert_tail(" \n\n", 3, 10, "");
    assert_tail("one", 1, 10, "one");
    assert_tail("a\nb\nc\n\n", 2, 10, "b\nc");
    assert_tail("a\nb\nc", 3, 10, "a\nb\nc");
    assert_tail("long line\nb\nc", 9, 5, "b\nc"); /* no part of a line */
    assert_tail("long line\nb\nc", 9, 3, "b\nc");
    assert_tail("0123456789", 9, 4, "6789"); /* but of the only one */
    assert_tail("\xC3\xA4\xC3\xB6\xC3\xBC", 9, 3, "\xC3\xBC");
}

static void expect_block(const char *text, size_t columns, const char *expected)
{
    char *written = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&written, &length);
    text_put_block(out, text, 2, columns);
    (void)fclose(out);
    assert_string_equal(written, expected);
    free(written);
}

static void test_block(void **state)
{
    (void)state;
    expect_block("", 8, "  \n");
    expect_block("one two", 9, "  one two\n");
    expect_block("one two", 8, "  one\n  two\n");
    expect_block("one twothreefour", 8, "  one\n  twothr\n  eefour\n");
    /* Neither characters nor what stands for one are cut. */
    expect_block("\xc3\xa9\xc3\xa9\xc3\xa9\x1b", 6, "  \xc3\xa9\xc3\xa9\xc3\xa9\n  \\x1b\n");
    expect_block("ab", 1, "  a\n  b\n");
}

static void test_wrapped(void **state)
{
    (void)state;
    char *written = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&written, &length);
    text_put_wrapped(out, "one two  three four-and-more-than-fits five", 4, 4, 14);
    (void)fclose(out);
    assert_string_equal(written, "one two\n    three\n    four-and-more-than-fits\n    five\n");
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duration), cmocka_unit_test(test_size),
        cmocka_unit_test(test_brief),    cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_fit),      cmocka_unit_test(test_wrapped),
        cmocka_unit_test(test_tail),     cmocka_unit_test(test_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
