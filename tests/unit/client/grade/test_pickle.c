/* SPDX-License-Identifier: MIT */
#include "client/grade/pickle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of a literal with NULs in it. */
#define BYTES(text) text, sizeof(text) - 1

/* EXPECTED is the text, or what is wrong behind "pickle: ". */
static void assert_pickle(const char *data, size_t n, const char *expected)
{
    struct fault fault = FAULT_NULL;
    const char *text = NULL;
    char got[FAULT_MAX];
    size_t length = 0;
    /* In a block of its own size, where a sanitizer sees each byte too much. */
    char *copy = malloc(n + 1);
    assert_non_null(copy);
    copy = realloc(copy, n > 0 ? n : 1);
    assert_non_null(copy);
    memcpy(copy, data, n);
    int r = pickle_read_text(copy, n, "io", &text, &length, &fault);
    (void)snprintf(got, sizeof(got), "%.*s", r < 0 ? FAULT_MAX - 1 : (int)length,
                   r < 0 ? fault.text : text);
    free(copy);
    assert_string_equal(got, expected);
}

/* What Python writes by each protocol that has texts of bytes. */
static void test_texts(void **state)
{
    (void)state;
    assert_pickle(BYTES("\x80\x02X\x02\x00\x00\x00[]q\x00."), "[]");
    assert_pickle(BYTES("\x80\x03X\x02\x00\x00\x00[]r\x01\x00\x00\x00."), "[]");
    assert_pickle(BYTES("\x80\x04\x95\x06\x00\x00\x00\x00\x00\x00\x00\x8c\x02[]\x94."), "[]");
    assert_pickle(BYTES("\x80\x05\x8c\x00."), "");
    assert_pickle(BYTES("\x80\x04\x8d\x01\x00\x00\x00\x00\x00\x00\x00[\x94."), "[");
    /* A long text stands between two frames. */
    assert_pickle(BYTES("\x80\x04X\x01\x00\x00\x00[\x95\x02\x00\x00\x00\x00\x00\x00\x00\x94."),
                  "[");
}

static void test_dictionaries(void **state)
{
    (void)state;
    assert_pickle(BYTES("\x80\x04}\x94\x8c\x02io\x94\x8c\x01x\x94s."), "x");
    assert_pickle(BYTES("\x80\x02}q\x00(X\x02\x00\x00\x00ioq\x01X\x01\x00\x00\x00xq\x02u."), "x");
    assert_pickle(BYTES("\x80\x04}\x94\x8c\x02ip\x94\x8c\x01x\x94s."),
                  "pickle: expected the member io, got another");
    assert_pickle(BYTES("\x80\x04}\x94."),
                  "pickle: byte 4: expected a text; a pickle that does anything else is not read");
    assert_pickle(BYTES("\x80\x04}(\x8c\x02io\x8c\x01xs."),
                  "pickle: byte 11: expected the end of the dictionary");
    /* A second member. */
    assert_pickle(BYTES("\x80\x04}\x8c\x02io\x8c\x01xs\x8c\x01y\x8c\x01zs."),
                  "pickle: byte 11: expected the end");
}

#define REFUSED "expected a text; a pickle that does anything else is not read"

/* What runs code where pickles are run. */
static void test_programs(void **state)
{
    (void)state;
    assert_pickle(BYTES("\x80\x04"
                        "cposix\nsystem\n\x8c\x02id\x85R."),
                  "pickle: byte 2: " REFUSED);
    assert_pickle(BYTES("\x80\x04\x8c\x05posix\x8c\x06system\x93."),
                  "pickle: byte 9: expected the end");
    assert_pickle(BYTES("\x80\x04}\x8c\x02io"
                        "cos\nsystem\ns."),
                  "pickle: byte 7: " REFUSED);
    assert_pickle(BYTES("\x80\x02(S'ls'\nios\nsystem\n."), "pickle: byte 2: " REFUSED);
    assert_pickle(BYTES("\x80\x04\x8c\x01x\x94\x94."), "pickle: byte 6: expected the end");
    /* What was remembered is not read again. */
    assert_pickle(BYTES("\x80\x04}\x94\x8c\x02io\x94h\x01s."), "pickle: byte 9: " REFUSED);
}

static void test_lengths(void **state)
{
    (void)state;
    assert_pickle(BYTES("\x80\x04X\xff\xff\xff\xffx."),
                  "pickle: byte 7: a text is longer than the rest");
    assert_pickle(BYTES("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffx."),
                  "pickle: byte 11: a text is longer than the rest");
    assert_pickle(BYTES("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff\x8c\x01x."),
                  "pickle: byte 11: a frame is longer than the rest");
    assert_pickle(BYTES("\x80\x04\x8c\x01x.."), "pickle: byte 6: something follows its end");
}

static void test_beginnings(void **state)
{
    (void)state;
    assert_pickle("", 0, "pickle: byte 0: not a pickle");
    assert_pickle(BYTES("Vx\np0\n."), "pickle: byte 0: not a pickle");
    assert_pickle(BYTES("\x80"), "pickle: byte 1: it ends too early");
    assert_pickle(BYTES("\x80\x01X\x01\x00\x00\x00x."),
                  "pickle: byte 2: of a protocol that is not known");
    assert_pickle(BYTES("\x80\x06\x8c\x01x."), "pickle: byte 2: of a protocol that is not known");
}

/* Wherever it is cut off, it is refused. */
static void test_truncated(void **state)
{
    static const char whole[] = "\x80\x04\x95\x15\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x02io\x94"
                                "X\x01\x00\x00\x00xr\x01\x00\x00\x00u.";
    (void)state;
    for (size_t n = 0; n < sizeof(whole) - 1; n++) {
        struct fault fault = FAULT_NULL;
        const char *text = NULL;
        size_t length = 0;
        assert_int_equal(pickle_read_text(whole, n, "io", &text, &length, &fault), -EINVAL);
        assert_null(text);
        assert_memory_equal(fault.text, "pickle: ", strlen("pickle: "));
    }
    assert_pickle(whole, sizeof(whole) - 1, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),      cmocka_unit_test(test_dictionaries),
        cmocka_unit_test(test_programs),   cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_beginnings), cmocka_unit_test(test_truncated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
