/* SPDX-License-Identifier: MIT */
/* Tests that the parser agrees with jansson's on what is JSON and on what it means. test_json.c has
 * the texts that are accepted and refused, and the words for them. */
#include "proto/json.h"
#include "proto/json_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const texts[] = {
    "{\"a\":[1,-0,2.5e3,-1E-2,0.1,1e22,123456789012345678,9223372036854775807,"
    "-9223372036854775808]}",
    "{\"a\":{\"b\":[{},[],\"\",null,true,false,{\"c\":\"d\"}]},\"e\":\" \\n\\\"\\\\\\/ \"}",
    " { \"\\u0061\\ud83d\\ude00\" : \"\xE2\x82\xAC \\u00e9 \xF0\x9F\x98\x80\" , \"x\" : [ 1 , 2 ] "
    "}\n",
    "{\"long enough for whole words\":\"long enough for whole words \\u0000 and more of them\"}",
    "[0.30000000000000004,1.7976931348623157e308,4.9e-324,9007199254740993.0,1e23,8.5e-23,1e400]",
};

/* Compares what both make of N bytes, at the end of an allocation. */
static void compare(const char *text, size_t n)
{
    _cleanup_free_ char *copy = malloc(n ? n : 1);
    json_t *ours = NULL, *theirs;
    struct json_wrong wrong = {.what = NULL};
    assert_non_null(copy);
    memcpy(copy, text, n);
    int r = json_parse(copy, n, &ours, NULL, &wrong);
    theirs = json_loadb(copy, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    if ((r == 0) != (theirs != NULL) || (r == 0 && !json_equal(ours, theirs)))
        fail_msg("%.*s: %d (%s), jansson: %p", (int)n, text, r, wrong.what, (void *)theirs);
    assert_true(r == 0 || (wrong.what && wrong.at <= n));
    json_decref(ours);
    json_decref(theirs);
}

static void test_whole_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        compare(texts[i], strlen(texts[i]));
}

/* Each byte is replaced by each of those that mean something, taken away and doubled; each text is
 * cut everywhere. */
static void test_altered_texts(void **state)
{
    static const char bytes[] = "{}[]:,\"\\ \n\t\x01"
                                "0123459+-.eEnulltrufasbDd/\x7f\x80\xc3\xa9\xed\xf4\xff";
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        size_t n = strlen(texts[i]);
        char altered[512];
        for (size_t at = 0; at < n; at++) {
            compare(texts[i], at);
            memcpy(altered, texts[i], n);
            for (const char *byte = bytes; *byte; byte++) {
                altered[at] = *byte;
                compare(altered, n);
            }
            memcpy(altered + at, texts[i] + at + 1, n - at - 1);
            compare(altered, n - 1);
            memcpy(altered, texts[i], at + 1);
            memcpy(altered + at + 1, texts[i] + at, n - at);
            compare(altered, n + 1);
        }
    }
}

static void test_reals_are_those_of_strtod(void **state)
{
    char text[64];
    (void)state;
    srand(7);
    for (int i = 0; i < 200000; i++) {
        (void)snprintf(text, sizeof(text), "%s%d.%0*de%d", i % 3 ? "" : "-", rand() % 1000,
                       1 + i % 14, rand() % 100000, rand() % 60 - 30);
        json_t *value = NULL;
        struct json_wrong wrong;
        assert_int_equal(json_parse(text, strlen(text), &value, NULL, &wrong), 0);
        double ours = json_real_value(value), theirs = strtod(text, NULL);
        if (memcmp(&ours, &theirs, sizeof(ours)) != 0)
            fail_msg("%s: %.17g %.17g", text, ours, theirs);
        json_decref(value);
    }
}

static void test_places(void **state)
{
    static const char text[] =
        "{\"a\":{\"b\": [ 1.50 , \" \\\" ] \" ,\n{ \"c\":1e0 } ] ,\"d\":7},\"e\":[{\"f\":1}]}";
    struct json_places places;
    struct json_wrong wrong;
    _cleanup_json_ json_t *value = NULL;
    char copy[sizeof(text)];
    (void)state;
    assert_int_equal(json_parse(text, strlen(text), &value, &places, &wrong), 0);
    const json_t *a = json_object_get(value, "a"), *b = json_object_get(a, "b");
    const json_t *e = json_object_get(value, "e"), *f = json_object_get(json_array_get(e, 0), "f");
    assert_int_equal(places.count, 4);
    assert_in_range(json_place_length(&places, b), 30, sizeof(copy));
    size_t n = json_place_copy(&places, b, copy);
    copy[n] = '\0';
    assert_string_equal(copy, "[1.50,\" \\\" ] \",{\"c\":1e0}]");
    n = json_place_copy(&places, e, copy);
    copy[n] = '\0';
    assert_string_equal(copy, "[{\"f\":1}]");
    assert_int_equal(json_place_length(&places, f), 0);
    assert_int_equal(json_place_length(NULL, b), 0);
}

/* A long text is refused in our words: jansson would need a quarter of a second for the largest. */
static void test_a_long_text_is_refused_where_it_is_wrong(void **state)
{
    size_t n = (1u << 20) + 3, at;
    _cleanup_free_ char *text = malloc(n);
    struct fault fault = FAULT_NULL;
    json_t *value = NULL;
    (void)state;
    assert_non_null(text);
    memset(text, ' ', n);
    memcpy(text, "{\"\xC3\xA9\":\n", 7);
    text[n - 4] = '\n';
    memcpy(text + n - 3, " ]}", 3);
    assert_int_equal(json_read_bounded(text, n, SIZE_MAX, &value, NULL, &at, &fault), -EBADMSG);
    assert_string_equal(fault.text, "JSON: line 3 column 2: unexpected token");
    assert_int_equal(at, n - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_texts),
        cmocka_unit_test(test_altered_texts),
        cmocka_unit_test(test_reals_are_those_of_strtod),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_a_long_text_is_refused_where_it_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
