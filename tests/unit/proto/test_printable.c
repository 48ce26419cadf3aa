/* SPDX-License-Identifier: MIT */
#include "proto/printable.h"
#include "proto/utf8.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define REPLACED "\xEF\xBF\xBD"

static void test_forms(void **state)
{
    static const struct {
        const char *in;
        enum printable_lines lines;
        const char *out;
    } cases[] = {
        {"a \\n \xC3\xA9 \xF0\x9F\x98\x80", PRINTABLE_ESCAPED, "a \\n \xC3\xA9 \xF0\x9F\x98\x80"},
        {"a\nb\tc\rd", PRINTABLE_ESCAPED, "a\\nb\\tc\\rd"},
        {"a\nb\tc\rd", PRINTABLE_JOINED, "a b c d"},
        {"a\nb\tc\rd", PRINTABLE_KEPT, "a\nb\tc\\rd"},
        {"\x1B[31m\x7F\x01", PRINTABLE_KEPT, "\\x1b[31m\\x7f\\x01"},
        /* CSI as one character, a line separator, right-to-left override, isolate */
        {"\xC2\x9B\xE2\x80\xA8\xE2\x80\xAE\xE2\x81\xA6", PRINTABLE_ESCAPED,
         "\\u009b\\u2028\\u202e\\u2066"},
        {"\xC2\xA0\xE2\x80\xAF", PRINTABLE_ESCAPED, "\xC2\xA0\xE2\x80\xAF"},
        {"\xFF\xC3(\xE2\x82", PRINTABLE_ESCAPED, REPLACED REPLACED "(" REPLACED},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char out[128];
        size_t n = printable(cases[i].in, strlen(cases[i].in), cases[i].lines, out, sizeof(out));
        assert_string_equal(out, cases[i].out);
        assert_int_equal(n, strlen(out));
    }
}

static void test_nul(void **state)
{
    char out[16];
    (void)state;
    assert_int_equal(printable("a\0b", 3, PRINTABLE_KEPT, out, sizeof(out)), 6);
    assert_string_equal(out, "a\\x00b");
}

/* In a buffer of any size, the output is terminated and has whole characters only. */
static void test_cut(void **state)
{
    static const char text[] = "ab\xC3\xA9\x1B\xF0\x9F\x98\x80z";
    static const char *const by_room[] = {
        "",           "a",          "ab",
        "ab",         "ab\xC3\xA9", "ab\xC3\xA9",
        "ab\xC3\xA9", "ab\xC3\xA9", "ab\xC3\xA9\\x1b",
    };
    (void)state;
    for (size_t room = 0; room < ARRAY_SIZE(by_room); room++) {
        char out[32];
        memset(out, '#', sizeof(out));
        assert_int_equal(printable(text, strlen(text), PRINTABLE_KEPT, out, room + 1),
                         strlen(by_room[room]));
        assert_string_equal(out, by_room[room]);
        assert_int_equal(out[room + 1], '#');
    }
}

/* Every pair of bytes gives valid UTF-8 without control characters. */
static void test_every_pair(void **state)
{
    (void)state;
    for (int pair = 0; pair < 65536; pair++) {
        char in[2] = {(char)(pair >> 8), (char)pair}, out[32];
        size_t n = printable(in, 2, PRINTABLE_ESCAPED, out, sizeof(out)), length;
        _cleanup_free_ char *again = utf8_replace(out, n, &length);
        assert_int_equal(length, n);
        assert_memory_equal(again, out, n);
        for (size_t i = 0; i < n; i++) {
            assert_true((unsigned char)out[i] >= ' ' && out[i] != 0x7F);
            assert_false((unsigned char)out[i] == 0xC2 && (unsigned char)out[i + 1] < 0xA0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_every_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
