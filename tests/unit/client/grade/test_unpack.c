/* SPDX-License-Identifier: MIT */
#include "client/grade/unpack.h"
#include "proto/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

/* Packs N bytes as zlib does. */
static struct bytes deflated(const char *data, size_t n)
{
    struct bytes out = BYTES_NULL;
    uLongf room = compressBound(n);
    out.data = malloc(room + 1);
    assert_non_null(out.data);
    assert_int_equal(compress((unsigned char *)out.data, &room, (const unsigned char *)data, n), 0);
    out.length = room;
    return out;
}

/* EXPECTED is the text, or what is wrong. */
static void assert_unpacked(const char *text, size_t n, const char *expected)
{
    struct fault fault = FAULT_NULL;
    _cleanup_bytes_ struct bytes found = BYTES_NULL;
    int r = unpack_text(text, n, "io", &found, &fault);
    assert_string_equal(r < 0 ? fault.text : found.data, expected);
}

/* Packs PICKLE of N bytes, as data sets do. */
static void assert_packed(const char *pickle, size_t n, const char *expected)
{
    _cleanup_bytes_ struct bytes packed = deflated(pickle, n), text = BYTES_NULL;
    assert_int_equal(base64_encode(packed.data, packed.length, &text), 0);
    assert_unpacked(text.data, text.length, expected);
}

static void test_text(void **state)
{
    static const char pickle[] = "\x80\x04\x8c\x03[1]\x94.";
    (void)state;
    assert_packed(pickle, sizeof(pickle) - 1, "[1]");
    assert_packed("[1]", 3, "pickle: byte 0: not a pickle");
    assert_unpacked("", 0, "the compressed data ends too early");
    assert_unpacked("[1]", 3, "neither JSON nor base64");
    assert_unpacked("AAAA", 4, "base64, but not of data that zlib has compressed");
}

/* Wherever the stream is cut off, and whatever follows it. */
static void test_truncated(void **state)
{
    _cleanup_bytes_ struct bytes packed = deflated("a text that is packed", 21);
    _cleanup_bytes_ struct bytes found = BYTES_NULL;
    (void)state;
    for (size_t n = 0; n < packed.length; n++)
        assert_int_equal(unpack_inflate(packed.data, n, 100, &found), -ENODATA);
    packed.data[packed.length] = 'x';
    assert_int_equal(unpack_inflate(packed.data, packed.length + 1, 100, &found), -EBADMSG);
    assert_null(found.data);
    assert_int_equal(unpack_inflate(packed.data, packed.length, 100, &found), 0);
    assert_string_equal(found.data, "a text that is packed");
}

static void test_damaged(void **state)
{
    _cleanup_bytes_ struct bytes packed = deflated("a text that is packed", 21);
    _cleanup_bytes_ struct bytes found = BYTES_NULL;
    (void)state;
    packed.data[packed.length - 1] ^= 1; /* of the checksum */
    assert_int_equal(unpack_inflate(packed.data, packed.length, 100, &found), -EBADMSG);
    assert_null(found.data);
}

/* A small stream of many bytes ends at the bound, before they are there. */
static void test_bomb(void **state)
{
    enum { SIZE = 4 << 20, BOUND = 100000 };
    _cleanup_free_ char *zeros = calloc(1, SIZE);
    assert_non_null(zeros);
    _cleanup_bytes_ struct bytes packed = deflated(zeros, SIZE), found = BYTES_NULL;
    (void)state;
    assert_true(packed.length < SIZE / 500);
    assert_int_equal(unpack_inflate(packed.data, packed.length, BOUND, &found), -EFBIG);
    assert_null(found.data);
    assert_int_equal(unpack_inflate(packed.data, packed.length, SIZE + 1, &found), 0);
    assert_int_equal(found.length, SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_bomb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
