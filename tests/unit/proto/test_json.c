/* SPDX-License-Identifier: MIT */
#include "proto/json.h"
#include "proto/printer.h"
#include "tests/unit/scarce.h"

#include <float.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TEXT(literal) (literal), sizeof(literal) - 1

/* Reads N bytes at the end of an allocation, so that a sanitizer detects reads past them. On
 * failure *ret must be unchanged. */
static int read_bytes(const char *text, size_t n, json_t **ret, struct fault *fault)
{
    json_t *untouched = json_true(), *value = untouched;
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    int r = json_read_object(copy, n, &value, fault);
    free(copy);
    if (r < 0)
        assert_ptr_equal(value, untouched);
    else
        assert_ptr_not_equal(value, untouched);
    *ret = r < 0 ? NULL : value;
    return r;
}

static json_t *read_good(const char *text, size_t n)
{
    struct fault fault = FAULT_NULL;
    json_t *value;
    if (read_bytes(text, n, &value, &fault) != 0)
        fail_msg("%.*s: %s", (int)MIN(n, 200u), text, fault.text);
    return value;
}

static void expect_refusal(const char *text, size_t n, int expected, const char *message)
{
    struct fault fault = FAULT_NULL;
    json_t *value;
    int r = read_bytes(text, n, &value, &fault);
    json_decref(value);
    if (r != expected || strcmp(fault.text, message) != 0)
        fail_msg("%.*s:\n  %d %s, expected\n  %d %s", (int)MIN(n, 200u), text, r, fault.text,
                 expected, message);
}

/* --- accepted texts ----------------------------------------------------------------------- */

static void test_good(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *printed;
    } cases[] = {
        {TEXT("{}"), "{}"},
        {TEXT(" \t\r\n{ \n\"a\" \t: \r1 , \"b\":[ ] } \n\t\r "), "{\"a\":1,\"b\":[]}"},
        {TEXT("{\"a\":null,\"b\":true,\"c\":false}"), "{\"a\":null,\"b\":true,\"c\":false}"},
        {TEXT("{\"\":1}"), "{\"\":1}"},
        {TEXT("{\"b\":1,\"a\":2,\"c\":3}"), "{\"b\":1,\"a\":2,\"c\":3}"},
        {TEXT("{\"a\":{\"x\":1},\"b\":{\"x\":1}}"), "{\"a\":{\"x\":1},\"b\":{\"x\":1}}"},
        {TEXT("{\"a\":1,\"A\":2}"), "{\"a\":1,\"A\":2}"},
        {TEXT("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}"), "{\"a\":\"\\\"\\\\/\\b\\f\\n\\r\\t\"}"},
        {TEXT("{\"a\":\"\\u0041\\u00e9\\u20ac\"}"), "{\"a\":\"A\xC3\xA9\xE2\x82\xAC\"}"},
        {TEXT("{\"a\":\"\\uD83D\\ude00\"}"), "{\"a\":\"\xF0\x9F\x98\x80\"}"},
        {TEXT("{\"a\":\"\\uDBFF\\uDFFF\"}"), "{\"a\":\"\xF4\x8F\xBF\xBF\"}"},
        {TEXT("{\"a\":\"\\uFFFE\\uFFFF\"}"), "{\"a\":\"\xEF\xBF\xBE\xEF\xBF\xBF\"}"},
        {TEXT("{\"a\":\"\xEF\xBB\xBF\"}"), "{\"a\":\"\xEF\xBB\xBF\"}"},
        {TEXT("{\"a\":\"\x7F\"}"), "{\"a\":\"\x7F\"}"},
        {TEXT("{\"\\u00e9\":1}"), "{\"\xC3\xA9\":1}"},
        {TEXT("{\"a\":\"\\u0000\"}"), "{\"a\":\"\\u0000\"}"},
        {TEXT("{\"a\":\"[{[{\"}"), "{\"a\":\"[{[{\"}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bytes printed;
        json_t *value = read_good(cases[i].text, cases[i].n);
        assert_int_equal(json_print(value, &printed), 0);
        assert_string_equal(printed.data, cases[i].printed);
        assert_int_equal(printed.length, strlen(cases[i].printed));
        bytes_deinit(&printed);
        json_decref(value);
    }
}

static void test_not_an_object(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "expected an object, got an array"},
        {"[{}]", "expected an object, got an array"},
        {"\"{}\"", "expected an object, got a string"},
        {"1", "expected an object, got a number"},
        {"-0.5e3", "expected an object, got a number"},
        {"true", "expected an object, got a boolean"},
        {"false", "expected an object, got a boolean"},
        {" null ", "expected an object, got null"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_refusal(cases[i].text, strlen(cases[i].text), -EINVAL, cases[i].message);
}

/* --- refused texts ------------------------------------------------------------------------ */

struct refusal {
    const char *text;
    size_t n;
    const char *message; /* after "JSON: " */
};

static void expect_refusals(const struct refusal *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char message[FAULT_MAX];
        (void)snprintf(message, sizeof(message), "JSON: %s", cases[i].message);
        expect_refusal(cases[i].text, cases[i].n, -EBADMSG, message);
    }
}

static void test_broken_structure(void **state)
{
    static const struct refusal cases[] = {
        {TEXT(""), "line 1 column 0: unexpected token near end of file"},
        {TEXT(" "), "line 1 column 1: unexpected token near end of file"},
        {TEXT("{"), "line 1 column 1: string or '}' expected near end of file"},
        {TEXT("}"), "line 1 column 1: unexpected token near '}'"},
        {TEXT("]"), "line 1 column 1: unexpected token near ']'"},
        {TEXT("{]"), "line 1 column 2: string or '}' expected near ']'"},
        {TEXT("{\"a\":[}"), "line 1 column 7: unexpected token near '}'"},
        {TEXT("{\"a\":[1}"), "line 1 column 8: ']' expected near '}'"},
        {TEXT("{\"a\":1]"), "line 1 column 7: '}' expected near ']'"},
        {TEXT("{\"a\""), "line 1 column 4: ':' expected near end of file"},
        {TEXT("{\"a\":"), "line 1 column 5: unexpected token near end of file"},
        {TEXT("{\"a\":}"), "line 1 column 6: unexpected token near '}'"},
        {TEXT("{\"a\" 1}"), "line 1 column 6: ':' expected near '1'"},
        {TEXT("{\"a\"::1}"), "line 1 column 6: unexpected token near ':'"},
        {TEXT("{\"a\":1"), "line 1 column 6: '}' expected near end of file"},
        {TEXT("{\"a\":1,"), "line 1 column 7: string or '}' expected near end of file"},
        {TEXT("{\"a\":1,}"), "line 1 column 8: string or '}' expected near '}'"},
        {TEXT("{,}"), "line 1 column 2: string or '}' expected near ','"},
        {TEXT("{\"a\":1,,\"b\":2}"), "line 1 column 8: string or '}' expected near ','"},
        {TEXT("{\"a\":1 \"b\":2}"), "line 1 column 10: '}' expected near '\"b\"'"},
        {TEXT("{\"a\":[1,]}"), "line 1 column 9: unexpected token near ']'"},
        {TEXT("{\"a\":[,1]}"), "line 1 column 7: unexpected token near ','"},
        {TEXT("{\"a\":[1 2]}"), "line 1 column 9: ']' expected near '2'"},
        {TEXT("{a:1}"), "line 1 column 2: string or '}' expected near 'a'"},
        {TEXT("{'a':1}"), "line 1 column 2: string or '}' expected near '''"},
        {TEXT("{1:1}"), "line 1 column 2: string or '}' expected near '1'"},
        {TEXT("{null:1}"), "line 1 column 5: string or '}' expected near 'null'"},
        {TEXT("{\"a\":1//x\n}"), "line 1 column 7: '}' expected near '/'"},
        {TEXT("{\"a\":1/*x*/}"), "line 1 column 7: '}' expected near '/'"},
        {TEXT("#\n{}"), "line 1 column 1: invalid token near '#'"},
        {TEXT("{\"a\":True}"), "line 1 column 9: invalid token near 'True'"},
        {TEXT("{\"a\":nul}"), "line 1 column 8: invalid token near 'nul'"},
        {TEXT("{\"a\":undefined}"), "line 1 column 14: invalid token near 'undefined'"},
        {TEXT("{\"a\":\n\n  x}"), "line 3 column 3: invalid token near 'x'"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_trailing_bytes(void **state)
{
    static const struct refusal cases[] = {
        {TEXT("{}{}"), "line 1 column 3: end of file expected near '{'"},
        {TEXT("{} {}"), "line 1 column 4: end of file expected near '{'"},
        {TEXT("{}\n{}"), "line 2 column 1: end of file expected near '{'"},
        {TEXT("{}x"), "line 1 column 3: end of file expected near 'x'"},
        {TEXT("{}}"), "line 1 column 3: end of file expected near '}'"},
        {TEXT("{}]"), "line 1 column 3: end of file expected near ']'"},
        {TEXT("{},"), "line 1 column 3: end of file expected near ','"},
        {TEXT("{}\xFF"), "line 1 column 2: unable to decode byte 0xff"},
        {TEXT("{}\xEF\xBB\xBF"), "line 1 column 3: end of file expected near '\357\273\277'"},
        {TEXT("{}\xC2\xA0"), "line 1 column 3: end of file expected near '\302\240'"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_white_space(void **state)
{
    static const struct refusal cases[] = {
        {TEXT("\xEF\xBB\xBF{}"), "line 1 column 1: invalid token near '\357\273\277'"},
        {TEXT("\xC2\xA0{}"), "line 1 column 1: invalid token near '\302\240'"},
        {TEXT("\xE2\x80\xA8{}"), "line 1 column 1: invalid token near '\342\200\250'"},
        {TEXT("\v{}"), "line 1 column 1: invalid token near '\013'"},
        {TEXT("\f{}"), "line 1 column 1: invalid token near '\014'"},
        {TEXT("\x85{}"), "line 1 column 0: unable to decode byte 0x85"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_duplicate_keys(void **state)
{
    static const struct refusal cases[] = {
        {TEXT("{\"a\":1,\"a\":2}"), "line 1 column 10: duplicate object key near '\"a\"'"},
        {TEXT("{\"a\":1,\"a\":1}"), "line 1 column 10: duplicate object key near '\"a\"'"},
        {TEXT("{\"a\":1,\"b\":2,\"a\":3}"), "line 1 column 16: duplicate object key near '\"a\"'"},
        {TEXT("{\"a\":1,\"\\u0061\":2}"),
         "line 1 column 15: duplicate object key near '\"\\u0061\"'"},
        {TEXT("{\"\":1,\"\":2}"), "line 1 column 8: duplicate object key near '\"\"'"},
        {TEXT("{\"\xC3\xA9\":1,\"\\u00e9\":2}"),
         "line 1 column 15: duplicate object key near '\"\\u00e9\"'"},
        {TEXT("{\"x\":{\"a\":1,\"a\":2}}"), "line 1 column 15: duplicate object key near '\"a\"'"},
        {TEXT("{\"x\":[{},{\"y\":{\"a\":1,\"a\":2}}]}"),
         "line 1 column 24: duplicate object key near '\"a\"'"},
        {TEXT("{\"x\":{\"a\":1},\"x\":{\"b\":1}}"),
         "line 1 column 16: duplicate object key near '\"x\"'"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_bad_numbers(void **state)
{
    static const struct refusal cases[] = {
        {TEXT("{\"a\":NaN}"), "line 1 column 8: invalid token near 'NaN'"},
        {TEXT("{\"a\":nan}"), "line 1 column 8: invalid token near 'nan'"},
        {TEXT("{\"a\":Infinity}"), "line 1 column 13: invalid token near 'Infinity'"},
        {TEXT("{\"a\":-Infinity}"), "line 1 column 6: invalid token near '-'"},
        {TEXT("{\"a\":inf}"), "line 1 column 8: invalid token near 'inf'"},
        {TEXT("{\"a\":1e400}"), "line 1 column 10: real number overflow near '1e400'"},
        {TEXT("{\"a\":-1e400}"), "line 1 column 11: real number overflow near '-1e400'"},
        {TEXT("{\"a\":1.8e308}"), "line 1 column 12: real number overflow near '1.8e308'"},
        {TEXT("{\"a\":1E+309}"), "line 1 column 11: real number overflow near '1E+309'"},
        {TEXT("{\"a\":[0,{\"b\":1e999}]}"), "line 1 column 18: real number overflow near '1e999'"},
        {TEXT("{\"a\":9223372036854775808}"),
         "line 1 column 24: too big integer near '9223372036854775808'"},
        {TEXT("{\"a\":-9223372036854775809}"),
         "line 1 column 25: too big negative integer near '-9223372036854775809'"},
        {TEXT("{\"a\":100000000000000000000000000000000000000000}"),
         "line 1 column 47: too big integer"},
        {TEXT("{\"a\":01}"), "line 1 column 6: invalid token near '0'"},
        {TEXT("{\"a\":-01}"), "line 1 column 7: invalid token near '-0'"},
        {TEXT("{\"a\":00}"), "line 1 column 6: invalid token near '0'"},
        {TEXT("{\"a\":+1}"), "line 1 column 6: invalid token near '+'"},
        {TEXT("{\"a\":-}"), "line 1 column 6: invalid token near '-'"},
        {TEXT("{\"a\":--1}"), "line 1 column 6: invalid token near '-'"},
        {TEXT("{\"a\":.5}"), "line 1 column 6: invalid token near '.'"},
        {TEXT("{\"a\":5.}"), "line 1 column 7: invalid token near '5.'"},
        {TEXT("{\"a\":5.e1}"), "line 1 column 7: invalid token near '5.'"},
        {TEXT("{\"a\":1e}"), "line 1 column 7: invalid token near '1e'"},
        {TEXT("{\"a\":1e+}"), "line 1 column 8: invalid token near '1e+'"},
        {TEXT("{\"a\":1e1.5}"), "line 1 column 9: '}' expected near '.'"},
        {TEXT("{\"a\":0x10}"), "line 1 column 7: '}' expected near 'x'"},
        {TEXT("{\"a\":0b1}"), "line 1 column 7: '}' expected near 'b'"},
        {TEXT("{\"a\":1_000}"), "line 1 column 7: '}' expected near '_'"},
        {TEXT("{\"a\":1,5}"), "line 1 column 8: string or '}' expected near '5'"},
        {TEXT("{\"a\":1f}"), "line 1 column 7: '}' expected near 'f'"},
        {TEXT("{\"a\":1L}"), "line 1 column 7: '}' expected near 'L'"},
        {TEXT("{\"a\":\xEF\xBC\x91}"), "line 1 column 6: invalid token near '\357\274\221'"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_bad_strings(void **state)
{
    static const struct refusal cases[] = {
        {TEXT("{\"a\":\""), "line 1 column 6: premature end of input near '\"'"},
        {TEXT("{\"a\":\"\\"), "line 1 column 7: invalid escape near '\"\\'"},
        {TEXT("{\"a\":\"\\\"}"), "line 1 column 9: premature end of input near '\"\\\"}'"},
        {TEXT("{\"a\":'x'}"), "line 1 column 6: invalid token near '''"},
        {TEXT("{\"a\":\"\t\"}"), "line 1 column 6: control character 0x9 near '\"'"},
        {TEXT("{\"a\":\"\n\"}"), "line 1 column 6: unexpected newline near '\"'"},
        {TEXT("{\"a\":\"\x1F\"}"), "line 1 column 6: control character 0x1f near '\"'"},
        {TEXT("{\"a\":\"\\x41\"}"), "line 1 column 8: invalid escape near '\"\\x'"},
        {TEXT("{\"a\":\"\\'\"}"), "line 1 column 8: invalid escape near '\"\\''"},
        {TEXT("{\"a\":\"\\0\"}"), "line 1 column 8: invalid escape near '\"\\0'"},
        {TEXT("{\"a\":\"\\u\"}"), "line 1 column 9: invalid escape near '\"\\u\"'"},
        {TEXT("{\"a\":\"\\u004\"}"), "line 1 column 12: invalid escape near '\"\\u004\"'"},
        {TEXT("{\"a\":\"\\u00G1\"}"), "line 1 column 11: invalid escape near '\"\\u00G'"},
        {TEXT("{\"a\":\"\\U0041\"}"), "line 1 column 8: invalid escape near '\"\\U'"},
        {TEXT("{\"a\":\"\\ud800\"}"),
         "line 1 column 13: invalid Unicode '\\uD800' near '\"\\ud800\"'"},
        {TEXT("{\"a\":\"\\udfff\"}"),
         "line 1 column 13: invalid Unicode '\\uDFFF' near '\"\\udfff\"'"},
        {TEXT("{\"a\":\"\\ud800\\u0041\"}"),
         "line 1 column 19: invalid Unicode '\\uD800\\u0041' near '\"\\ud800\\u0041\"'"},
        {TEXT("{\"a\":\"\\ude00\\ud83d\"}"),
         "line 1 column 19: invalid Unicode '\\uDE00' near '\"\\ude00\\ud83d\"'"},
        {TEXT("{\"a\\ud800\":1}"),
         "line 1 column 10: invalid Unicode '\\uD800' near '\"a\\ud800\"'"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_nul_in_a_key(void **state)
{
    static const struct refusal cases[] = {
        {TEXT("{\"\\u0000\":1}"),
         "line 1 column 9: NUL byte in object key not supported near '\"\\u0000\"'"},
        {TEXT("{\"a\\u0000b\":1}"),
         "line 1 column 11: NUL byte in object key not supported near '\"a\\u0000b\"'"},
        {TEXT("{\"x\":[{\"a\\u0000\":1}]}"),
         "line 1 column 16: NUL byte in object key not supported near '\"a\\u0000\"'"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_not_utf8(void **state)
{
    static const struct refusal cases[] = {
        {TEXT("{\"a\":\"\xFF\"}"), "line 1 column 6: unable to decode byte 0xff near '\"'"},
        {TEXT("{\"a\":\"\x80\"}"), "line 1 column 6: unable to decode byte 0x80 near '\"'"},
        {TEXT("{\"a\":\"\xC3\"}"), "line 1 column 6: unable to decode byte 0xc3 near '\"'"},
        {TEXT("{\"a\":\"\xC3(\"}"), "line 1 column 6: unable to decode byte 0xc3 near '\"'"},
        {TEXT("{\"a\":\"\xE2\x82\"}"), "line 1 column 6: unable to decode byte 0xe2 near '\"'"},
        {TEXT("{\"a\":\"\xF0\x9F\x98\"}"), "line 1 column 6: unable to decode byte 0xf0 near '\"'"},
        {TEXT("{\"a\":\"\xC0\x80\"}"), "line 1 column 6: unable to decode byte 0xc0 near '\"'"},
        {TEXT("{\"a\":\"\xC0\xAF\"}"), "line 1 column 6: unable to decode byte 0xc0 near '\"'"},
        {TEXT("{\"a\":\"\xE0\x80\xAF\"}"), "line 1 column 6: unable to decode byte 0xe0 near '\"'"},
        {TEXT("{\"a\":\"\xF0\x80\x80\xAF\"}"),
         "line 1 column 6: unable to decode byte 0xf0 near '\"'"},
        {TEXT("{\"a\":\"\xED\xA0\x80\"}"), "line 1 column 6: unable to decode byte 0xed near '\"'"},
        {TEXT("{\"a\":\"\xED\xBF\xBF\"}"), "line 1 column 6: unable to decode byte 0xed near '\"'"},
        {TEXT("{\"a\":\"\xF4\x90\x80\x80\"}"),
         "line 1 column 6: unable to decode byte 0xf4 near '\"'"},
        {TEXT("{\"a\":\"\xF8\x88\x80\x80\x80\"}"),
         "line 1 column 6: unable to decode byte 0xf8 near '\"'"},
        {TEXT("{\"\xE9\":1}"), "line 1 column 2: unable to decode byte 0xe9 near '\"'"},
        {TEXT("{\"a\":\"x\xC3"), "line 1 column 7: unable to decode byte 0xc3 near '\"x'"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

/* A NUL byte outside a string is invalid everywhere. */
static void test_nul_between_tokens(void **state)
{
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {
        {TEXT("{\0}")},
        {TEXT("{}\0")},
        {TEXT("{} \0 ")},
        {TEXT("\0{}")},
        {TEXT("{\"a\":\"\0\"}")},
        {TEXT("{\"a\":\"x\0y\"}")},
        {TEXT("\xFF\xFE{\0}\0")},
        {TEXT("\xFE\xFF\0{\0}")},
        {TEXT("{\0}\0")},
        {TEXT("{\0\"a\":1}")},
        {TEXT("{\"a\"\0:1}")},
        {TEXT("{\"a\":\0001}")},
        {TEXT("{\"a\":\"x\"\0}")},
        {TEXT("{\"a\":{}\0}")},
        {TEXT("{\"a\":1\0}")},
        {TEXT("{\"a\":-1\0}")},
        {TEXT("{\"a\":1.5\0}")},
        {TEXT("{\"a\":1e5\0}")},
        {TEXT("{\"a\":true\0}")},
        {TEXT("{\"a\":null\0}")},
        {TEXT("{\"a\":[1\0]}")},
        {TEXT("{\"a\":[1\0,2]}")},
        {TEXT("{\"a\":1\0,\"b\":2}")},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *nul = memchr(cases[i].text, '\0', cases[i].n);
        char message[40];
        assert_non_null(nul);
        (void)snprintf(message, sizeof(message), "JSON: NUL at byte %td", nul - cases[i].text);
        expect_refusal(cases[i].text, cases[i].n, -EBADMSG, message);
    }
}

/* A scalar followed by a NUL byte is malformed JSON, not JSON of the wrong type. */
static void test_nul_after_a_scalar(void **state)
{
    struct fault fault = FAULT_NULL;
    json_t *value;
    (void)state;
    assert_int_equal(read_bytes(TEXT("1\0"), &value, &fault), -EBADMSG);
    assert_int_equal(read_bytes(TEXT("true\0"), &value, &fault), -EBADMSG);
}

/* --- depth -------------------------------------------------------------------------------- */

/* Makes {"a":[[...]]} or {"a":{"a":...}} with DEPTH levels, including the outermost object. */
static struct bytes nested(unsigned depth, bool objects)
{
    struct bytes text = {.data = calloc(depth, 8)};
    assert_non_null(text.data);
    for (unsigned i = 0; i < depth; i++)
        text.length += (size_t)sprintf(text.data + text.length, "%s",
                                       i == 0 || objects ? (i + 1 < depth ? "{\"a\":" : "{") : "[");
    for (unsigned i = depth; i > 0; i--)
        text.data[text.length++] = i == 1 || objects ? '}' : ']';
    return text;
}

static void test_depth(void **state)
{
    (void)state;
    for (int objects = 0; objects <= 1; objects++) {
        for (unsigned depth = JSON_DEPTH_MAX - 1; depth <= JSON_DEPTH_MAX; depth++) {
            _cleanup_bytes_ struct bytes good = nested(depth, objects);
            json_decref(read_good(good.data, good.length));
        }
        _cleanup_bytes_ struct bytes deep = nested(JSON_DEPTH_MAX + 1, objects);
        expect_refusal(deep.data, deep.length, -EBADMSG,
                       objects ? "JSON: nested deeper than 200 levels at byte 1000"
                               : "JSON: nested deeper than 200 levels at byte 204");
    }
}

/* A recursive parser would overflow its stack. */
static void test_depth_of_a_million(void **state)
{
    const size_t n = 1000000;
    char *text = malloc(n);
    (void)state;
    assert_non_null(text);
    memset(text, '[', n);
    expect_refusal(text, n, -EBADMSG, "JSON: nested deeper than 200 levels at byte 200");
    free(text);
}

/* Siblings do not add depth. */
static void test_depth_of_many_siblings(void **state)
{
    const size_t n = 1000;
    _cleanup_bytes_ struct bytes text = {.data = malloc(3 * n + 20)};
    (void)state;
    text.length = (size_t)sprintf(text.data, "{\"a\":[[]");
    for (size_t i = 0; i < n; i++)
        text.length += (size_t)sprintf(text.data + text.length, ",%s", i % 2 ? "[]" : "{}");
    text.length += (size_t)sprintf(text.data + text.length, "]}");
    json_decref(read_good(text.data, text.length));
}

/* Brackets in strings are text, whatever escapes surround them. */
static void test_depth_in_strings(void **state)
{
    static const char *const before[] = {
        "", "\\\"", "\\\\", "\\\\\\\"", "\\u005b", "\\\\\\\\", "]]]}", "\xC3\xA9",
    };
    char brackets[301];
    (void)state;
    memset(brackets, '[', 300);
    brackets[300] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
        char text[1200];
        int n = snprintf(text, sizeof(text), "{\"%s%s\":\"%s%s\",\"z\":[\"%s\"]}", before[i],
                         brackets, before[i], brackets, brackets);
        json_decref(read_good(text, (size_t)n));
    }
}

/* Brackets after the end of a string count again, up to the last level. */
static void test_depth_after_strings(void **state)
{
    static const char *const strings[] = {
        "\"\"", "\"\\\\\"", "\"\\\"\"", "\"]\"", "\"[\"", "\"\\\\\\\"\"", "\"\\u0022\"",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
        for (int over = 0; over <= 1; over++) {
            char text[800], opening[300] = "", closing[300] = "", message[80];
            memset(opening, '[', 199 + (size_t)over);
            memset(closing, ']', 199 + (size_t)over);
            int n =
                snprintf(text, sizeof(text), "{\"a\":%s,\"b\":%s%s}", strings[i], opening, closing);
            (void)snprintf(message, sizeof(message),
                           "JSON: nested deeper than 200 levels at byte %zu",
                           strlen("{\"a\":,\"b\":") + strlen(strings[i]) + 199);
            if (over)
                expect_refusal(text, (size_t)n, -EBADMSG, message);
            else
                json_decref(read_good(text, (size_t)n));
        }
    }
}

/* --- numbers ------------------------------------------------------------------------------ */

static void test_integers(void **state)
{
    static const struct {
        const char *text;
        json_int_t value;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"1", 1},
        {"-1", -1},
        {"9007199254740993", INT64_C(9007199254740993)},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[80];
        int n = snprintf(text, sizeof(text), "{\"a\":%s}", cases[i].text);
        json_t *object = read_good(text, (size_t)n);
        assert_true(json_is_integer(json_object_get(object, "a")));
        assert_true(json_integer_value(json_object_get(object, "a")) == cases[i].value);
        json_decref(object);
    }
}

/* A real stays a real even if it is a whole number: 1.0 is not an integer. */
static void test_reals_as_printed(void **state)
{
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {"0.0", "0.0"},
        {"-0.0", "-0.0"},
        {"-0e0", "-0.0"},
        {"1.0", "1.0"},
        {"1e0", "1.0"},
        {"1E2", "100.0"},
        {"0.1", "0.1"},
        {"0.10", "0.1"},
        {"0.10000000000000001", "0.1"},
        {"0.2", "0.2"},
        {"0.3", "0.3"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"0.7", "0.7"},
        {"1.1", "1.1"},
        {"2.675", "2.675"},
        {"100.25", "100.25"},
        {"3.141592653589793", "3.141592653589793"},
        {"2.718281828459045", "2.718281828459045"},
        {"0.3333333333333333", "0.3333333333333333"},
        {"0.6666666666666666", "0.6666666666666666"},
        {"1e15", "1e15"},
        {"1e22", "1e22"},
        {"1e23", "1e23"},
        {"1e-7", "1e-7"},
        {"1.7976931348623157e308", "1.7976931348623157e308"},
        {"2.2250738585072014e-308", "2.2250738585072014e-308"},
        {"4.9406564584124654e-324", "4.94065645841247e-324"},
        {"5e-324", "4.94065645841247e-324"},
        {"1e-400", "0.0"},
        {"9007199254740993.0", "9007199254740992.0"},
        {"123456789012345.6", "123456789012345.6"},
        {"1234567890123456.7", "1234567890123456.8"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[80], expected[80];
        int n = snprintf(text, sizeof(text), "{\"a\":%s}", cases[i].text);
        (void)snprintf(expected, sizeof(expected), "{\"a\":%s}", cases[i].printed);
        _cleanup_bytes_ struct bytes printed = BYTES_NULL;
        json_t *object = read_good(text, (size_t)n);
        assert_true(json_is_real(json_object_get(object, "a")));
        assert_int_equal(json_print(object, &printed), 0);
        assert_string_equal(printed.data, expected);
        json_decref(object);
    }
}

static double bits_to_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Prints a value and reads it again: gives the same bits, without unnecessary digits. */
static void check_real(double value)
{
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    json_t *object = json_pack("{s:f}", "a", value);
    assert_non_null(object);
    assert_int_equal(json_print(object, &printed), 0);
    json_decref(object);

    object = read_good(printed.data, printed.length);
    double again = json_real_value(json_object_get(object, "a"));
    if (memcmp(&again, &value, sizeof(value)) != 0)
        fail_msg("%a is printed as %s", value, printed.data);
    json_decref(object);

    size_t digits = 0;
    bool leading = true;
    for (const char *p = printed.data + strlen("{\"a\":"); *p && !strchr("e}", *p); p++) {
        leading = leading && strchr("-0.", *p);
        digits += !leading && *p != '.';
    }
    for (int fewer = 15; fewer < 17 && (size_t)fewer < digits; fewer++) {
        char shorter[40];
        (void)snprintf(shorter, sizeof(shorter), "%.*g", fewer, value);
        /* the last digit of "100.0" only marks a real */
        if (strtod(shorter, NULL) == value && value != trunc(value))
            fail_msg("%s has %zu digits; %s is enough", printed.data, digits, shorter);
    }
}

static void test_reals_round_trip(void **state)
{
    static const double values[] = {
        0.1,
        0.2,
        0.1 + 0.2,
        0.1 * 3,
        1.0 / 3,
        2.0 / 3,
        1e22,
        1e23,
        5e-324,
        DBL_MIN,
        DBL_MAX,
        DBL_EPSILON,
        M_PI,
        -0.0,
        1 - 0x1p-53,
        1 + 0x1p-52,
        0x1p53,
        0x1p53 + 2,
        0x1p-1022 - 0x1p-1074,
        -DBL_MAX,
        0.29,
    };
    uint64_t seed = 7;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        check_real(values[i]);
    for (int i = 0; i < 20000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double any = bits_to_double(seed), score = (double)(seed >> 11) * 0x1p-53;
        if (isfinite(any))
            check_real(any);
        check_real(score);
        check_real(round(score * 100) / 100);
    }
}

/* --- printing ----------------------------------------------------------------------------- */

static void test_nul_survives(void **state)
{
    static const char text[] = "{\"a\":\"x\\u0000y\\u0000\",\"b\":[\"\\u0000\"]}";
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    (void)state;
    json_t *object = read_good(text, strlen(text));
    const json_t *string = json_object_get(object, "a");
    assert_int_equal(json_string_length(string), 4);
    assert_memory_equal(json_string_value(string), "x\0y\0", 5);
    assert_int_equal(json_print(object, &printed), 0);
    assert_string_equal(printed.data, text);
    json_decref(object);

    object = read_good(printed.data, printed.length);
    assert_int_equal(json_string_length(json_object_get(object, "a")), 4);
    json_decref(object);
}

/* All control characters are escaped; everything else stays as it is, in UTF-8. */
static void test_control_characters(void **state)
{
    (void)state;
    for (char c = 0; c < 0x20; c++) {
        _cleanup_bytes_ struct bytes printed = BYTES_NULL;
        json_t *object = json_object();
        assert_int_equal(json_object_set_new(object, "a", json_text(&c, 1)), 0);
        assert_int_equal(json_print(object, &printed), 0);
        json_decref(object);
        for (size_t i = 0; i < printed.length; i++)
            assert_true((unsigned char)printed.data[i] >= 0x20);
        object = read_good(printed.data, printed.length);
        const json_t *string = json_object_get(object, "a");
        assert_int_equal(json_string_length(string), 1);
        assert_int_equal(json_string_value(string)[0], c);
        json_decref(object);
    }
}

static void test_print_any_value(void **state)
{
    static const char *const texts[] = {"null", "true", "[]", "\"x\"", "0.1", "7"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_bytes_ struct bytes printed = BYTES_NULL;
        json_t *value = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        assert_int_equal(json_print(value, &printed), 0);
        assert_string_equal(printed.data, texts[i]);
        assert_int_equal(printed.length, strlen(texts[i]));
        json_decref(value);
    }
}

/* The printer's output equals jansson's. */
static void test_print_as_jansson(void **state)
{
    static const char *const texts[] = {
        "{}",
        "{\"a\":{},\"b\":[],\"c\":[[],[[]],{},{}],\"d\":{\"e\":{\"f\":[{\"g\":null},{}]}}}",
        "[0,-1,9,10,-10,99,100,9223372036854775807,-9223372036854775808]",
        "[true,false,null,\"\",\"{\",\"[\",\",\"]",
        "{\"\":1,\"{\":2,\"a\\\"b\":3,\"\\n\":4,\"\u00e9\":5,\"\\\\\":6}",
        "[\" "
        "~\\u007f\",\"\\u001f\",\"/"
        "\",\"\\\"\",\"\\\\\",\"\\t\\u0000x\",\"\u00e9\u4e16\U0001f30d\"]",
        "[0.5,-0.0,1.0,1e300,0.1]",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_bytes_ struct bytes printed = BYTES_NULL;
        json_t *value = json_loads(texts[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(value);
        char *expected = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15));
        assert_int_equal(json_print(value, &printed), 0);
        assert_string_equal(printed.data, expected);
        assert_int_equal(printed.length, strlen(expected));
        free(expected);
        json_decref(value);
    }
}

/* Reals of 1 and of 17 digits in one text: each reads back unchanged. */
static void test_print_reals_together(void **state)
{
    static const double values[] = {0.1, 0.1 + 0.2, 1e22, 0.7, 5e-324};
    json_t *array = json_array();
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        assert_int_equal(json_array_append_new(array, json_real(values[i])), 0);
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    assert_int_equal(json_print(array, &printed), 0);
    json_decref(array);
    array = json_loads(printed.data, 0, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        assert_true(json_real_value(json_array_get(array, i)) == values[i]);
    json_decref(array);
}

/* Every text that can be read can be printed, in a time that does not depend on its depth. An alarm
 * stops the test otherwise. */
static void test_print_deep(void **state)
{
    (void)state;
    for (int objects = 0; objects <= 1; objects++) {
        _cleanup_bytes_ struct bytes printed = BYTES_NULL;
        _cleanup_bytes_ struct bytes text = nested(JSON_DEPTH_MAX, objects);
        json_t *value = read_good(text.data, text.length);
        (void)alarm(20);
        assert_int_equal(json_print(value, &printed), 0);
        (void)alarm(0);
        assert_int_equal(printed.length, text.length);
        assert_memory_equal(printed.data, text.data, text.length);
        json_decref(value);
    }
}

static void test_large_document(void **state)
{
    const size_t n = 1 << 20;
    _cleanup_bytes_ struct bytes text = {.data = malloc(n + 16)}, printed = BYTES_NULL;
    (void)state;
    text.length = (size_t)sprintf(text.data, "{\"a\":\"");
    memset(text.data + text.length, 'x', n);
    text.length += n;
    text.length += (size_t)sprintf(text.data + text.length, "\"}");
    json_t *object = read_good(text.data, text.length);
    assert_int_equal(json_print(object, &printed), 0);
    json_decref(object);
    assert_int_equal(printed.length, text.length);
    assert_memory_equal(printed.data, text.data, text.length);
}

/* --- helpers ------------------------------------------------------------------------------ */

static void test_text(void **state)
{
    (void)state;
    json_t *string = json_text(TEXT("a\xFF\0\xC3\xA9"));
    assert_int_equal(json_string_length(string), 7);
    assert_memory_equal(json_string_value(string), "a\xEF\xBF\xBD\0\xC3\xA9", 8);
    json_decref(string);

    string = json_text("", 0);
    assert_int_equal(json_string_length(string), 0);
    json_decref(string);
}

static void test_type_names(void **state)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"{}", "an object"}, {"[]", "an array"},    {"\"\"", "a string"},   {"1", "a number"},
        {"1.5", "a number"}, {"true", "a boolean"}, {"false", "a boolean"}, {"null", "null"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_t *value = json_loads(cases[i].text, JSON_DECODE_ANY, NULL);
        assert_string_equal(json_type_name(value), cases[i].name);
        json_decref(value);
    }
    assert_string_equal(json_type_name(NULL), "nothing");
}

static void test_bytes(void **state)
{
    struct bytes bytes = BYTES_NULL;
    (void)state;
    bytes_deinit(&bytes);
    assert_int_equal(bytes_copy("a\0b", 3, &bytes), 0);
    assert_int_equal(bytes.length, 3);
    assert_memory_equal(bytes.data, "a\0b", 4);
    bytes_deinit(&bytes);
    assert_null(bytes.data);
    assert_int_equal(bytes.length, 0);

    assert_int_equal(bytes_copy(NULL, 0, &bytes), 0);
    assert_non_null(bytes.data); /* empty is not NULL */
    assert_string_equal(bytes.data, "");
    bytes_deinit(&bytes);
}

static void test_fault_may_be_null(void **state)
{
    json_t *value = NULL;
    (void)state;
    assert_int_equal(json_read_object(TEXT("{"), &value, NULL), -EBADMSG);
    assert_int_equal(json_read_object(TEXT("[]"), &value, NULL), -EINVAL);
    assert_null(value);
}

/* --- memory runs out ---------------------------------------------------------------------- */

/* jansson would report some failed allocations as malformed text, and take others for the end of a
 * token. */
static void test_read_without_memory(void **state)
{
    static const char text[] = "{\"a\":[1,0.5,\"text\",{\"b\":null}],\"c\":\"d\"}";
    (void)state;
    allocations_left = -1;
    for (int before = 0; allocations_left < 0; before++) {
        struct fault fault = FAULT_NULL;
        json_t *value;
        allocations_left = before;
        json_set_alloc_funcs(scarce_malloc, free);
        int r = read_bytes(text, strlen(text), &value, &fault);
        json_decref(value);
        json_set_alloc_funcs(malloc, free);
        if (allocations_left >= 0)
            assert_int_equal(r, 0);
        else
            assert_int_equal(r, -ENOMEM);
    }
}

static void *no_malloc(size_t n)
{
    (void)n;
    return NULL;
}

static char *repeat(const char *head, const char *element, size_t count, const char *tail)
{
    size_t n = strlen(element);
    char *text = malloc(strlen(head) + count * n + strlen(tail) + 1), *end = text;
    assert_non_null(text);
    end += sprintf(end, "%s", head);
    for (size_t i = 0; i < count; i++, end += n)
        memcpy(end, element, n);
    (void)sprintf(end, "%s", tail);
    return text;
}

/* What is kept ready for the parser lasts for texts of each shape, however large. An assertion of
 * the guard fails otherwise. */
static void test_memory_kept_ready_suffices(void **state)
{
    static const struct {
        const char *head, *element, *tail;
    } shapes[] = {
        {"{\"a\":\"", "x", "\"}"},
        {"{\"a\":\"", "\\u00e9", "\"}"},
        {"{\"a\":", "7", "}"},
        {"{\"a\":0.", "7", "}"},
        {"{\"", "k", "\":1}"},
        {"{\"a\":[1", ",2", "]}"},
        {"{\"a\":[{}", ",{}", "]}"},
        {"{\"a\":[[]", ",[]", "]}"},
        {"{\"a\":[\"\"", ",\"\"", "]}"},
        {"{\"a\":[0.5", ",0.5", "]}"},
        {"{\"a\":[{}", ",{\"\":\"\"}", "]}"},
        {"{\"a\":[1", ",{\"k\":1,\"l\":[2]}", "]}"},
        {"{\"a\":", "\n", "1}"},
        {"{\"a\":", "?", "1}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        for (size_t count = 1; count < 40000; count = count * 6 + 1) {
            struct fault fault = FAULT_NULL;
            json_t *value = NULL;
            char *text = repeat(shapes[i].head, shapes[i].element, count, shapes[i].tail);
            json_set_alloc_funcs(no_malloc, free);
            int r = json_read_object(text, strlen(text), &value, &fault);
            json_set_alloc_funcs(malloc, free);
            assert_int_equal(r, -ENOMEM);
            assert_null(value);
            free(text);
        }
    }
}

static char *many_keys(size_t count)
{
    char *text = malloc(count * 16 + 16), *end = text;
    assert_non_null(text);
    end += sprintf(end, "{");
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, "%s\"%zu\":1", i > 0 ? "," : "", i);
    (void)sprintf(end, "}");
    return text;
}

/* The same for tables of keys, which grow. */
static void test_memory_kept_ready_suffices_for_keys(void **state)
{
    (void)state;
    for (size_t count = 1; count < 20000; count = count * 3 + 1) {
        json_t *value = NULL;
        char *text = many_keys(count);
        json_set_alloc_funcs(no_malloc, free);
        int r = json_read_object(text, strlen(text), &value, NULL);
        json_set_alloc_funcs(malloc, free);
        assert_int_equal(r, -ENOMEM);
        free(text);
    }
}

static void test_print_without_memory(void **state)
{
    (void)state;
    json_t *value = json_pack("{s:[i,f,s],s:{s:n}}", "a", 1, 0.5, "te\nxt", "b", "c\n");
    allocations_left = -1;
    for (int before = 0; allocations_left < 0; before++) {
        struct bytes printed = BYTES_NULL;
        allocations_left = before;
        json_set_alloc_funcs(scarce_malloc, free);
        int r = json_print(value, &printed);
        json_set_alloc_funcs(malloc, free);
        assert_int_equal(r, allocations_left < 0 ? -ENOMEM : 0);
        assert_int_equal(printed.data != NULL, r == 0);
        bytes_deinit(&printed);
    }
    json_decref(value);
}

/* --- bounds -------------------------------------------------------------------------------- */

/* An object whose only member is an array of COUNT times ELEMENT. */
static char *many(const char *element, size_t count)
{
    size_t n = strlen(element);
    char *text = malloc(count * (n + 1) + 16), *end = text;
    assert_non_null(text);
    end += sprintf(end, "{\"a\":[");
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, "%s%s", i > 0 ? "," : "", element);
    (void)sprintf(end, "]}");
    return text;
}

static size_t allocated;

static void *count_malloc(size_t n)
{
    void *block = malloc(n);
    allocated += block ? malloc_usable_size(block) + sizeof(size_t) : 0;
    return block;
}

static void count_free(void *block)
{
    allocated -= block ? malloc_usable_size(block) + sizeof(size_t) : 0;
    free(block);
}

/* Strings of all single bytes that are valid, and of what takes two to four. */
static void test_strings_are_printed_as_by_the_library(void **state)
{
    static const char *const wide[] = {"\xc2\x80", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    uint64_t seed = 7;
    (void)state;
    for (int i = 0; i < 5000; i++) {
        char text[64 * 4];
        size_t n = 0;
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        for (uint64_t left = seed >> 58; left > 0; left--) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            unsigned pick = (unsigned)(seed >> 56);
            if (pick < 0x80)
                text[n++] = (char)pick;
            else
                n = (size_t)(stpcpy(text + n, wide[pick % ARRAY_SIZE(wide)]) - text);
        }
        _cleanup_json_ json_t *value = json_stringn(text, n);
        _cleanup_bytes_ struct bytes printed = BYTES_NULL;
        assert_non_null(value);
        char *expected = json_dumps(value, JSON_ENCODE_ANY);
        assert_int_equal(json_print(value, &printed), 0);
        assert_string_equal(printed.data, expected);
        free(expected);
    }
}

static void test_a_string_that_is_not_utf8_is_not_printed(void **state)
{
    static const char *const texts[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\x80 a"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_json_ json_t *value = json_string_nocheck(texts[i]);
        _cleanup_bytes_ struct bytes printed = BYTES_NULL;
        assert_int_equal(json_print(value, &printed), -ENOMEM);
    }
}

/* The estimate is above what is allocated, whatever the values are. */
static void test_overhead_is_bounded(void **state)
{
    static const char *const elements[] = {
        "{}",         "[]",
        "1",          "1.5",
        "\"\"",       "\"x\"",
        "null",       "[1]",
        "[[]]",       "{\"a\":1}",
        "{\"a\":{}}", "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9}",
    };
    json_malloc_t old_malloc;
    json_free_t old_free;
    (void)state;
    json_get_alloc_funcs(&old_malloc, &old_free);
    for (size_t i = 0; i < ARRAY_SIZE(elements); i++) {
        _cleanup_free_ char *text = many(elements[i], 5000);
        struct fault fault = FAULT_NULL;
        json_t *value = NULL;
        size_t at = 0, n = strlen(text), low = 0, high = (size_t)64 << 20;
        while (high - low > 1) { /* finds the least bound that lets it pass */
            size_t bound = low + (high - low) / 2;
            int r = json_read_bounded(text, n, bound, &value, NULL, &at, &fault);
            json_decref(r == 0 ? TAKE_PTR(value) : NULL);
            *(r == 0 ? &high : &low) = bound;
        }
        allocated = 0;
        json_set_alloc_funcs(count_malloc, count_free);
        assert_int_equal(json_read_bounded(text, n, high, &value, NULL, &at, &fault), 0);
        size_t taken = allocated;
        json_decref(value);
        json_set_alloc_funcs(old_malloc, old_free);
        if (taken > high + n)
            fail_msg("%s: %zu bytes, estimated as %zu", elements[i], taken, high);
    }
}

static void test_too_much_is_refused_where_it_is(void **state)
{
    _cleanup_free_ char *text = many("{}", 100);
    struct fault fault = FAULT_NULL;
    json_t *value = NULL;
    size_t at = 0;
    (void)state;
    assert_int_equal(json_read_bounded(text, strlen(text), 10000, &value, NULL, &at, &fault),
                     -EBADMSG);
    assert_string_equal(fault.text, "JSON: too large: its values would take more than 0 MiB");
    assert_in_range(at, 10, strlen(text) - 10);
    assert_int_equal(json_read_bounded(text, strlen(text), 100000, &value, NULL, &at, &fault), 0);
    json_decref(value);
    /* What stands in a string is none. */
    const char quoted[] = "{\"a\":\"[[[[{{{{,,,,::::\\\"[[[[{{{{,,,,::::\"}";
    assert_int_equal(json_read_bounded(quoted, sizeof(quoted) - 1, 1000, &value, NULL, &at, &fault),
                     0);
    json_decref(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_not_an_object),
        cmocka_unit_test(test_broken_structure),
        cmocka_unit_test(test_trailing_bytes),
        cmocka_unit_test(test_white_space),
        cmocka_unit_test(test_duplicate_keys),
        cmocka_unit_test(test_bad_numbers),
        cmocka_unit_test(test_bad_strings),
        cmocka_unit_test(test_nul_in_a_key),
        cmocka_unit_test(test_not_utf8),
        cmocka_unit_test(test_nul_between_tokens),
        cmocka_unit_test(test_nul_after_a_scalar),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_depth_of_a_million),
        cmocka_unit_test(test_depth_of_many_siblings),
        cmocka_unit_test(test_depth_in_strings),
        cmocka_unit_test(test_depth_after_strings),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_reals_as_printed),
        cmocka_unit_test(test_reals_round_trip),
        cmocka_unit_test(test_nul_survives),
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_print_any_value),
        cmocka_unit_test(test_print_as_jansson),
        cmocka_unit_test(test_large_document),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_type_names),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_fault_may_be_null),
        cmocka_unit_test(test_read_without_memory),
        cmocka_unit_test(test_memory_kept_ready_suffices),
        cmocka_unit_test(test_memory_kept_ready_suffices_for_keys),
        cmocka_unit_test(test_print_without_memory),
        cmocka_unit_test(test_print_reals_together),
        cmocka_unit_test(test_print_deep),
        cmocka_unit_test(test_strings_are_printed_as_by_the_library),
        cmocka_unit_test(test_a_string_that_is_not_utf8_is_not_printed),
        cmocka_unit_test(test_overhead_is_bounded),
        cmocka_unit_test(test_too_much_is_refused_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
