/* SPDX-License-Identifier: MIT */
#include "proto/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    uint8_t header[FRAME_HEADER_SIZE];
    uint32_t length;
} encodings[] = {
    {{0x00, 0x00, 0x00, 0x00}, 0},
    {{0x00, 0x00, 0x00, 0x01}, 1},
    {{0x00, 0x00, 0x00, 0x7F}, 127},
    {{0x00, 0x00, 0x00, 0x80}, 128},
    {{0x00, 0x00, 0x00, 0xFF}, 255},
    {{0x00, 0x00, 0x01, 0x00}, 256},
    {{0x00, 0x00, 0xFF, 0xFF}, 65535},
    {{0x00, 0x01, 0x00, 0x00}, 65536},
    {{0x00, 0xFF, 0xFF, 0xFF}, 16777215},
    {{0x01, 0x00, 0x00, 0x00}, 16777216}, /* also 1 from a little-endian client */
    {{0x01, 0x00, 0x00, 0x01}, 16777217},
    {{0x12, 0x34, 0x56, 0x78}, 0x12345678},
    {{0x7F, 0xFF, 0xFF, 0xFF}, INT32_MAX},
    {{0x80, 0x00, 0x00, 0x00}, UINT32_C(0x80000000)},
    {{0xFF, 0xFF, 0xFF, 0xFE}, UINT32_MAX - 1},
    {{0xFF, 0xFF, 0xFF, 0xFF}, UINT32_MAX},
    /* A client that forgot the header or speaks another protocol. */
    {{'{', '"', 't', 'y'}, UINT32_C(0x7B227479)},
    {{'G', 'E', 'T', ' '}, UINT32_C(0x47455420)},
};

static void test_write(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(encodings) / sizeof(*encodings); i++) {
        uint8_t header[FRAME_HEADER_SIZE + 2];
        memset(header, 0xA5, sizeof(header));
        frame_write_header(header + 1, encodings[i].length);
        assert_memory_equal(header + 1, encodings[i].header, FRAME_HEADER_SIZE);
        assert_int_equal(header[0], 0xA5);
        assert_int_equal(header[FRAME_HEADER_SIZE + 1], 0xA5);
    }
}

static void test_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(encodings) / sizeof(*encodings); i++) {
        uint32_t length = ~encodings[i].length;
        enum frame_check verdict = frame_read_header(encodings[i].header, UINT32_MAX, &length);
        assert_int_equal(verdict, encodings[i].length == 0 ? FRAME_EMPTY : FRAME_OK);
        assert_true(length == encodings[i].length);
    }
}

static void test_maximum(void **state)
{
    static const struct {
        uint32_t length, max;
        enum frame_check verdict;
    } cases[] = {
        {0, FRAME_MAX_DEFAULT, FRAME_EMPTY},
        {1, FRAME_MAX_DEFAULT, FRAME_OK},
        {FRAME_MAX_DEFAULT - 1, FRAME_MAX_DEFAULT, FRAME_OK},
        {FRAME_MAX_DEFAULT, FRAME_MAX_DEFAULT, FRAME_OK},
        {FRAME_MAX_DEFAULT + 1, FRAME_MAX_DEFAULT, FRAME_TOO_LARGE},
        {INT32_MAX, FRAME_MAX_DEFAULT, FRAME_TOO_LARGE},
        {UINT32_C(0x80000000), FRAME_MAX_DEFAULT, FRAME_TOO_LARGE},
        {UINT32_MAX, FRAME_MAX_DEFAULT, FRAME_TOO_LARGE},
        {UINT32_MAX, UINT32_MAX - 1, FRAME_TOO_LARGE},
        {UINT32_MAX, UINT32_MAX, FRAME_OK},
        {1, 1, FRAME_OK},
        {2, 1, FRAME_TOO_LARGE},
        {1, 0, FRAME_TOO_LARGE},
        {0, 0, FRAME_EMPTY},
        {0, UINT32_MAX, FRAME_EMPTY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint8_t header[FRAME_HEADER_SIZE];
        uint32_t length = ~cases[i].length;
        frame_write_header(header, cases[i].length);
        assert_int_equal(frame_read_header(header, cases[i].max, &length), cases[i].verdict);
        assert_true(length == cases[i].length); /* set in every case, because the message has it */
    }
}

static void test_default_maximum(void **state)
{
    (void)state;
    assert_int_equal(FRAME_HEADER_SIZE, 4);
    assert_true(FRAME_MAX_DEFAULT == 16777216);
}

/* Round trips of each bit alone, and of every length around a byte boundary. */
static void test_round_trip(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 32; bit++) {
        for (int off = -2; off <= 2; off++) {
            uint32_t wanted = (UINT32_C(1) << bit) + (uint32_t)off, length = ~wanted;
            uint8_t header[FRAME_HEADER_SIZE];
            frame_write_header(header, wanted);
            (void)frame_read_header(header, UINT32_MAX, &length);
            assert_true(length == wanted);
        }
    }
}

/* A header at an odd address, as in a buffer of several frames. */
static void test_unaligned(void **state)
{
    uint8_t buffer[16];
    (void)state;
    for (size_t at = 0; at + FRAME_HEADER_SIZE <= sizeof(buffer); at++) {
        uint32_t length = 0;
        memset(buffer, 0xFF, sizeof(buffer));
        frame_write_header(buffer + at, UINT32_C(0x00C0FFEE));
        assert_int_equal(frame_read_header(buffer + at, FRAME_MAX_DEFAULT, &length), FRAME_OK);
        assert_true(length == UINT32_C(0x00C0FFEE));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),      cmocka_unit_test(test_read),
        cmocka_unit_test(test_maximum),    cmocka_unit_test(test_default_maximum),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_unaligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
