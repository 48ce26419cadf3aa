/* SPDX-License-Identifier: MIT */
#include "proto/utf8.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A string literal with its length, NUL bytes included. */
#define BYTES(literal) (literal), sizeof(literal) - 1

/* The right-hand sides are the results of CPython's bytes.decode("utf-8", "replace"), as UTF-8. */
static const struct {
    const char *what;
    const char *in;
    size_t in_length;
    const char *out;
    size_t out_length;
} replacements[] = {
    {"nothing", BYTES(""), BYTES("")},
    {"ASCII", BYTES("abc\x7F"), BYTES("abc\x7F")},
    {"NUL stays", BYTES("a\000b\x00"), BYTES("a\000b\x00")},
    {"2 bytes, lowest and highest", BYTES("\xC2\x80\xDF\xBF"), BYTES("\xC2\x80\xDF\xBF")},
    {"3 bytes, lowest and highest", BYTES("\xE0\xA0\x80\xEF\xBF\xBF"),
     BYTES("\xE0\xA0\x80\xEF\xBF\xBF")},
    {"around the surrogates", BYTES("\xED\x9F\xBF\xEE\x80\x80"), BYTES("\xED\x9F\xBF\xEE\x80\x80")},
    {"4 bytes, lowest and highest", BYTES("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"),
     BYTES("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF")},
    {"U+FFFD itself", BYTES("\xEF\xBF\xBD"), BYTES("\xEF\xBF\xBD")},
    {"BOM stays", BYTES("\xEF\xBB\xBFx"), BYTES("\xEF\xBB\xBFx")},
    {"a continuation byte alone", BYTES("\x80"), BYTES("\xEF\xBF\xBD")},
    {"the last continuation byte alone", BYTES("\xBF"), BYTES("\xEF\xBF\xBD")},
    {"two continuation bytes", BYTES("\x80\xBF"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"seven continuation bytes", BYTES("\x80\x81\x82\x83\x84\x85\x86"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"lead of 2, at the end", BYTES("\xC3"), BYTES("\xEF\xBF\xBD")},
    {"lead of 2, then ASCII", BYTES("\xC3("), BYTES("\xEF\xBF\xBD(")},
    {"lead of 2, then a lead", BYTES("\xC3\xC3\xA9"), BYTES("\xEF\xBF\xBD\xC3\xA9")},
    {"lead of 2, then one continuation too many", BYTES("\xC3\xA9\xA9"),
     BYTES("\xC3\xA9\xEF\xBF\xBD")},
    {"lead of 3, at the end", BYTES("\xE2"), BYTES("\xEF\xBF\xBD")},
    {"lead of 3 and 1, at the end", BYTES("\xE2\x82"), BYTES("\xEF\xBF\xBD")},
    {"lead of 3 and 1, then ASCII", BYTES("\xE2\x82("), BYTES("\xEF\xBF\xBD(")},
    {"lead of 3, then ASCII", BYTES("\xE2(\x82"), BYTES("\xEF\xBF\xBD(\xEF\xBF\xBD")},
    {"lead of 3 and 1, then a good character", BYTES("\xE2\x82\xE2\x82\xAC"),
     BYTES("\xEF\xBF\xBD\xE2\x82\xAC")},
    {"lead of 4, at the end", BYTES("\xF0"), BYTES("\xEF\xBF\xBD")},
    {"lead of 4 and 1, at the end", BYTES("\xF0\x9F"), BYTES("\xEF\xBF\xBD")},
    {"lead of 4 and 2, at the end", BYTES("\xF0\x9F\x98"), BYTES("\xEF\xBF\xBD")},
    {"lead of 4 and 1, then ASCII", BYTES("\xF0\x9Fx"), BYTES("\xEF\xBF\xBDx")},
    {"lead of 4 and 2, then ASCII", BYTES("\xF0\x9F\x98x"), BYTES("\xEF\xBF\xBDx")},
    {"lead of 4 and 2, then a lead of 4", BYTES("\xF0\x9F\x98\xF0\x9F\x98\x80"),
     BYTES("\xEF\xBF\xBD\xF0\x9F\x98\x80")},
    {"lead of 4, then ASCII between", BYTES("\xF0(\x8C\xBC"),
     BYTES("\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"lead of 4 and 1, then ASCII between", BYTES("\xF0\x90(\xBC"),
     BYTES("\xEF\xBF\xBD(\xEF\xBF\xBD")},
    {"C0: overlong NUL", BYTES("\xC0\x80"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"C0: overlong slash", BYTES("\xC0\xAF"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"C1: overlong ASCII", BYTES("\xC1\xBF"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"E0 80: overlong", BYTES("\xE0\x80\x80"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"E0 80 AF: overlong slash", BYTES("\xE0\x80\xAF"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"E0 9F: overlong", BYTES("\xE0\x9F\xBF"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"E0 A0, at the end", BYTES("\xE0\xA0"), BYTES("\xEF\xBF\xBD")},
    {"E0 9F, at the end", BYTES("\xE0\x9F"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"F0 80: overlong", BYTES("\xF0\x80\x80\x80"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"F0 8F: overlong", BYTES("\xF0\x8F\xBF\xBF"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"F0 80 80 AF: overlong slash", BYTES("\xF0\x80\x80\xAF"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"F0 8F, at the end", BYTES("\xF0\x8F"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"F0 90, at the end", BYTES("\xF0\x90"), BYTES("\xEF\xBF\xBD")},
    {"U+D800", BYTES("\xED\xA0\x80"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"U+DBFF", BYTES("\xED\xAF\xBF"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"U+DC00", BYTES("\xED\xB0\x80"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"U+DFFF", BYTES("\xED\xBF\xBF"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"a pair of surrogates (CESU-8)", BYTES("\xED\xA0\xBD\xED\xB8\x80"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"ED A0, at the end", BYTES("\xED\xA0"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"ED 9F, at the end", BYTES("\xED\x9F"), BYTES("\xEF\xBF\xBD")},
    {"U+110000", BYTES("\xF4\x90\x80\x80"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"F4 90, at the end", BYTES("\xF4\x90"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"F4 8F, at the end", BYTES("\xF4\x8F"), BYTES("\xEF\xBF\xBD")},
    {"F4 BF BF BF", BYTES("\xF4\xBF\xBF\xBF"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"F5: never a lead", BYTES("\xF5\x80\x80\x80"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"F7", BYTES("\xF7\xBF\xBF\xBF"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"F8: 5 bytes", BYTES("\xF8\x88\x80\x80\x80"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"FB", BYTES("\xFB\xBF\xBF\xBF\xBF"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"FC: 6 bytes", BYTES("\xFC\x84\x80\x80\x80\x80"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"FD", BYTES("\xFD\xBF\xBF\xBF\xBF\xBF"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"FE", BYTES("\xFE"), BYTES("\xEF\xBF\xBD")},
    {"FF", BYTES("\xFF"), BYTES("\xEF\xBF\xBD")},
    {"FE FE FF FF", BYTES("\xFE\xFE\xFF\xFF"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"noncharacters U+FFFE, U+FFFF stay", BYTES("\xEF\xBF\xBE\xEF\xBF\xBF"),
     BYTES("\xEF\xBF\xBE\xEF\xBF\xBF")},
    {"noncharacter U+FDD0 stays", BYTES("\xEF\xB7\x90"), BYTES("\xEF\xB7\x90")},
    {"modified UTF-8 NUL between letters", BYTES("a\xC0\200b"),
     BYTES("a\xEF\xBF\xBD\xEF\xBF\275b")},
    {"Latin-1 text", BYTES("caf\xE9 cr\xE8me"), BYTES("caf\xEF\xBF\xBD cr\xEF\xBF\xBDme")},
    {"Latin-1 at the end", BYTES("caf\xE9"), BYTES("caf\xEF\xBF\xBD")},
    {"UTF-16LE with BOM", BYTES("\xFF\376a\000b\x00"), BYTES("\xEF\xBF\xBD\xEF\xBF\275a\000b\x00")},
    {"UTF-16BE with BOM", BYTES("\xFE\xFF\000a\000b"), BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\000a\000b")},
    {"good, bad, good", BYTES("\xE2\x82\xAC\xFF\xE2\x82\xAC"),
     BYTES("\xE2\x82\xAC\xEF\xBF\xBD\xE2\x82\xAC")},
    {"bad, NUL, bad", BYTES("\xFF\x00\xFF"), BYTES("\xEF\xBF\xBD\x00\xEF\xBF\xBD")},
    {"NUL inside a sequence", BYTES("\xE2\x00\x82\xAC"),
     BYTES("\xEF\xBF\xBD\x00\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"newline inside a sequence", BYTES("\xE2\x82\x0A\xAC"), BYTES("\xEF\xBF\xBD\x0A\xEF\xBF\xBD")},
    {"the example of Unicode 15, table 3-8", BYTES("\xC0\xAF\xE0\x80\xBF\xF0\x81\202A"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\275"
           "\xEF\xBF\275A")},
    {"the example of Unicode 15, table 3-9", BYTES("\xED\xA0\x80\xED\xBF\xBF\xED\257A"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\275"
           "\xEF\xBF\275A")},
    {"the example of Unicode 15, table 3-10", BYTES("\xF4\x91\x92\x93\377A\x80\277B"),
     BYTES(
         "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\275A\xEF\xBF\xBD\xEF\xBF\275B")},
    {"the example of Unicode 15, table 3-11", BYTES("\xE1\x80\xE2\xF0\x91\x92\xF1\277A"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\275A")},
    {"every lead byte, each cut off",
     BYTES("\xC2\xC3\xC4\xC5\xC6\xC7\xC8\xC9\xCA\xCB\xCC\xCD\xCE\xCF\xD0\xD1\xD2\xD3\xD4\xD5\326"
           "\xD7\xD8\xD9\xDA\xDB\xDC\xDD\xDE\xDF\xE0\xE1\xE2\xE3\xE4\xE5\xE6\xE7\xE8\xE9\xEA\353"
           "\xEC\xED\xEE\xEF\xF0\xF1\xF2\xF3\xF4"),
     BYTES(
         "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\357"
         "\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\277"
         "\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\275"
         "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\357"
         "\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\277"
         "\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\275"
         "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
    {"Markus Kuhn 3.3.10: incomplete ones in a row",
     BYTES("\xC0\xE0\x80\xF0\x80\x80\xF8\x80\x80\x80\xDF\xEF\xBF\xF7\xBF\xBF"),
     BYTES("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\275"
           "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\275"
           "\xEF\xBF\xBD")},
};

/* Copies N bytes to the end of an allocation, so that a sanitizer detects reads past them. */
static char *own(const char *bytes, size_t n)
{
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    return copy;
}

static void test_replace(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(replacements) / sizeof(*replacements); i++) {
        char *in = own(replacements[i].in, replacements[i].in_length);
        size_t length = SIZE_MAX;
        char *out = utf8_replace(in, replacements[i].in_length, &length);
        assert_non_null(out);
        if (length != replacements[i].out_length ||
            memcmp(out, replacements[i].out, length + 1) != 0)
            fail_msg("%s: got %zu bytes: %s", replacements[i].what, length, out);
        free(out);
        free(in);
    }
}

/* The result is well-formed, and replacing again does not change it. */
static void test_replace_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(replacements) / sizeof(*replacements); i++) {
        size_t length, again;
        char *once = utf8_replace(replacements[i].in, replacements[i].in_length, &length);
        char *twice = utf8_replace(once, length, &again);
        assert_int_equal(again, length);
        assert_memory_equal(twice, once, length + 1);
        free(twice);
        free(once);
    }
}

/* A text cut at any byte, as a capped stderr may be, keeps the whole characters before the cut. */
static void test_replace_cut_short(void **state)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
    static const struct {
        size_t whole; /* bytes of whole characters before the cut */
        bool rest;    /* a part of one follows */
    } expected[] = {
        {0, false}, {1, false}, {1, true}, {3, false}, {3, true},   {3, true},
        {6, false}, {6, true},  {6, true}, {6, true},  {10, false}, {11, false},
    };
    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        char *in = own(text, n);
        size_t length;
        char *out = utf8_replace(in, n, &length);
        assert_int_equal(length, expected[n].whole + (expected[n].rest ? 3 : 0));
        assert_memory_equal(out, text, expected[n].whole);
        if (expected[n].rest)
            assert_string_equal(out + expected[n].whole, "\xEF\xBF\xBD");
        free(out);
        free(in);
    }
}

#define FNV_START UINT64_C(0xCBF29CE484222325)

static uint64_t fnv(uint64_t hash, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001B3);
    return hash;
}

static uint64_t hash_of_replaced(uint64_t hash, const unsigned char *bytes, size_t n)
{
    size_t length;
    char *out = utf8_replace((const char *)bytes, n, &length);
    assert_non_null(out);
    hash = fnv(fnv(hash, out, length), "\n", 1);
    free(out);
    return hash;
}

/* All pairs of bytes. The number is FNV-1a of CPython's results, each with a newline. */
static void test_replace_all_pairs(void **state)
{
    uint64_t hash = FNV_START;
    (void)state;
    for (unsigned i = 0; i < 256; i++)
        for (unsigned j = 0; j < 256; j++)
            hash = hash_of_replaced(hash,
                                    (const unsigned char[]){(unsigned char)i, (unsigned char)j}, 2);
    assert_true(hash == UINT64_C(0x1CE027166D6188A5));
}

/* All quadruples of bytes at which a rule begins or ends. The number is as above. */
static void test_replace_edge_quadruples(void **state)
{
    static const unsigned char edges[] = {
        0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF,
        0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    };
    const size_t base = sizeof(edges);
    uint64_t hash = FNV_START;
    (void)state;
    for (size_t i = 0; i < base * base * base * base; i++) {
        unsigned char bytes[] = {edges[i / (base * base * base)], edges[i / (base * base) % base],
                                 edges[i / base % base], edges[i % base]};
        hash = hash_of_replaced(hash, bytes, sizeof(bytes));
    }
    assert_true(hash == UINT64_C(0x2E00705B7E282A71));
}

static size_t encode(uint32_t point, char out[4])
{
    static const unsigned char lead[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3F));
    out[0] = (char)(lead[n] | point);
    return n;
}

static void test_every_code_point_stays(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        if (point >= 0xD800 && point <= 0xDFFF)
            continue;
        char in[4];
        size_t n = encode(point, in), length;
        char *out = utf8_replace(in, n, &length);
        assert_int_equal(length, n);
        assert_memory_equal(out, in, n);
        free(out);
    }
}

/* For pseudo-random bytes, jansson accepts the result as UTF-8. */
static void test_replace_noise(void **state)
{
    uint64_t seed = 20;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char bytes[24];
        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            bytes[i] = (char)(seed >> 56);
        }
        size_t length;
        char *out = utf8_replace(bytes, (size_t)round % sizeof(bytes), &length);
        json_t *string = json_stringn(out, length); /* NULL unless it is UTF-8 */
        assert_non_null(string);
        assert_int_equal(strlen(out + length), 0);
        json_decref(string);
        free(out);
    }
}

static void test_replace_large(void **state)
{
    const size_t n = 1 << 20;
    char *in = malloc(n);
    size_t length;
    (void)state;
    memset(in, 0xFF, n);
    char *out = utf8_replace(in, n, &length);
    assert_int_equal(length, 3 * n);
    assert_memory_equal(out + length - 3, "\xEF\xBF\xBD", 4);
    free(out);
    free(in);
}

/* No input can be that large, but the size of the result must not wrap around. */
static void test_replace_impossible_size(void **state)
{
    size_t length = 7;
    (void)state;
    assert_null(utf8_replace("", SIZE_MAX, &length));
    assert_null(utf8_replace("", SIZE_MAX / 3, &length));
    assert_null(utf8_replace("", SIZE_MAX / 3 - 1, &length));
    assert_int_equal(length, 7);
}

static void test_cut(void **state)
{
    /* a U+00E9 U+20AC U+1F600 z */
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    (void)state;
    for (size_t max = 0; max < sizeof(expected) / sizeof(*expected); max++)
        assert_int_equal(utf8_cut(text, sizeof(text) - 1, max), expected[max]);
    assert_int_equal(utf8_cut(text, sizeof(text) - 1, sizeof(text)), sizeof(text) - 1);
    assert_int_equal(utf8_cut(text, sizeof(text) - 1, SIZE_MAX), sizeof(text) - 1);
}

static void test_cut_of_little(void **state)
{
    (void)state;
    assert_int_equal(utf8_cut("", 0, 0), 0);
    assert_int_equal(utf8_cut("", 0, 10), 0);
    assert_int_equal(utf8_cut("abc", 3, 0), 0);
    assert_int_equal(utf8_cut("\xF0\x9F\x98\x80", 4, 3), 0);
    assert_int_equal(utf8_cut("\xF0\x9F\x98\x80", 4, 4), 4);
    assert_int_equal(utf8_cut("a\0b", 3, 2), 2); /* a NUL is a character like others */
    assert_int_equal(utf8_cut("ab\xEF\xBF\xBD", 5, 4), 2);
}

/* 200 bytes of a detail: 199 letters and a character of 2, 3 and 4 bytes. */
static void test_cut_at_200(void **state)
{
    static const char *const tails[] = {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    (void)state;
    for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
        for (size_t before = 194; before <= 200; before++) {
            char text[210];
            memset(text, 'x', before);
            memcpy(text + before, tails[i], strlen(tails[i]));
            size_t n = before + strlen(tails[i]);
            assert_int_equal(utf8_cut(text, n, 200), n <= 200 ? n : before);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_replace_twice),
        cmocka_unit_test(test_replace_cut_short),
        cmocka_unit_test(test_replace_all_pairs),
        cmocka_unit_test(test_replace_edge_quadruples),
        cmocka_unit_test(test_every_code_point_stays),
        cmocka_unit_test(test_replace_noise),
        cmocka_unit_test(test_replace_large),
        cmocka_unit_test(test_replace_impossible_size),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_cut_of_little),
        cmocka_unit_test(test_cut_at_200),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
