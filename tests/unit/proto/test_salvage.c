/* SPDX-License-Identifier: MIT */
#include "proto/salvage.h"
#include "tests/unit/quoted.h"

#include <stdio.h>

#define ID_MAX 16

/* Looks through N bytes at the end of an allocation, so that a sanitizer detects reads past them.
 */
static struct salvage look_through(const char *text, size_t n, size_t at)
{
    struct salvage found;
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    salvage_read(copy, n, at, ID_MAX, &found);
    free(copy);
    return found;
}

static void expect_id(const char *quoted, const char *id)
{
    _cleanup_free_ char *text = to_json(quoted);
    struct salvage found = look_through(text, strlen(text), strlen(text));
    if (!id != !found.id || (id && strcmp(json_string_value(found.id), id) != 0))
        fail_msg("%s: id %s, expected %s", quoted, found.id ? json_string_value(found.id) : "none",
                 id ? id : "none");
    json_decref(found.id);
}

static void test_ids_that_are_sure(void **state)
{
    static const char *const texts[] = {
        "{'id':'a','x':NaN}",
        "{'x':NaN,'id':'a'}",
        "{'x':-Infinity , 'id' : 'a' }  ",
        "{'x':'\\ud800','id':'a'}",
        "{'\\ud800':1,'id':'a'}",
        "{'x':'\\q \\\\','id':'a'}",
        "{'x':'\xff\xfe','id':'a'}",
        "{'x':'line\nline','id':'a'}",
        "{'x':01,'id':'a'}",
        "{'x':1e999,'id':'a'}",
        "{'x':1,'x':2,'id':'a'}",
        "{'x':[{'id':'b'},{'id':NaN}],'id':'a'}",
        "{'id':'a','job':{'id':'b','x':True}}",
        "{'id':'\\u0061','x':NaN}",
        "{'\\u0069\\u0064':'a','x':NaN}",
        "{'x':{},'y':[],'z':[[]],'id':'a'}",
        "{'x':'}','y':']','z':'{\\'','id':'a'}",
        "{'key':'id','id':'a','x':NaN}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        expect_id(texts[i], "a");
}

static void test_ids_that_are_not(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "NaN",
        "['id','a']",
        "'id'",
        "{}",
        "{'x':NaN}",
        "{'id':NaN}",
        "{'id':['a']}",
        "{'id':{'id':'a'}}",
        "{'id':''}",
        "{'id':'12345678901234567'}",
        "{'id':'\\ud800'}",
        "{'id':'\xff'}",
        "{'id':'a\nb'}",
        /* twice */
        "{'id':'a','x':NaN,'id':'b'}",
        "{'id':'a','id':'a'}",
        "{'id':'a','\\u0069d':'b'}",
        "{'id':'a','id':1}",
        /* not at the top */
        "{'job':{'id':'a'},'x':NaN}",
        "{'ID':'a','x':NaN}",
        /* what is a member is unsure */
        "{'id':'a'",
        "{'id':'a",
        "{'id':'a','x':'",
        "{'id':'a','x':[}",
        "{'id':'a','x':[1}]",
        "{'id':'a','x':1]",
        "{'id':'a',}",
        "{'id':'a','x':[1,]}",
        "{'id':'a' 'x':1}",
        "{'id' 'a'}",
        "{'id'::'a'}",
        "{'id':'a','x':'a'b'}",
        "{'id':'a','x':1 2}",
        "{'id':'a','x':/* */1}",
        "{'id':'a'} x",
        "{'id':'a'}{}",
        "{,'id':'a'}",
        "{id:'a'}",
        "{'id':'a'}\x01",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        expect_id(texts[i], NULL);
}

static void test_nul_bytes(void **state)
{
    static const char inside[] = "{\"id\":\"a\",\"x\":\"\0\"}", between[] = "{\"id\":\"a\"\0}";
    (void)state;
    struct salvage found = look_through(inside, sizeof(inside) - 1, 1);
    assert_string_equal(json_string_value(found.id), "a");
    json_decref(found.id);
    found = look_through(between, sizeof(between) - 1, 1);
    assert_null(found.id);
}

/* Each beginning of a message, and each message with one byte changed, is looked through without
 * harm, and none has another id. */
static void test_broken_at_every_byte(void **state)
{
    static const char text[] =
        "{\"id\":\"a\",\"job\":{\"x\":[1,{\"y\":\"\\u0000\"}],\"id\":\"b\"}}";
    size_t n = sizeof(text) - 1;
    (void)state;
    for (size_t cut = 0; cut < n; cut++)
        assert_null(look_through(text, cut, cut).id);
    for (size_t at = 0; at < n; at++) {
        static const char others[] = "\"\\{}[]:,1 \0\xff";
        for (size_t i = 0; i < sizeof(others) - 1; i++) {
            char copy[sizeof(text)];
            memcpy(copy, text, sizeof(text));
            copy[at] = others[i];
            struct salvage found = look_through(copy, n, at + 1);
            if (found.id && at != 7) /* the id itself */
                assert_string_equal(json_string_value(found.id), "a");
            json_decref(found.id);
        }
    }
}

/* --- paths --------------------------------------------------------------------------------- */

static void test_paths(void **state)
{
    static const struct {
        const char *text; /* ! is behind what is wrong */
        const char *path;
    } cases[] = {
        {"{'a':NaN!}", "a"},
        {"{'a':{'b':NaN!}}", "a.b"},
        {"{'a':{'b':[1,2,NaN!]}}", "a.b[2]"},
        {"{'a':[[],[{'b':'\\ud800'!}]]}", "a[1][0].b"},
        {"{'a':{'b':1},'c':NaN!}", "c"},
        {"{'a':1,'a'!:2}", "a"},
        {"{'a':{'b':1,'b'!:2}}", "a.b"},
        {"{'a':1,}!", ""},
        {"!", ""},
        {"[1,NaN!]", ""},
        {"{'a':{'b':'x!", "a.b"},
        {"{'a':'long \\q! text'}", "a"},
        {"{'a':[[[[[[!", "a[0][0][0][0][0]"},
        {"{'1234567890123456789012345678901234567890123':NaN!}",
         "1234567890123456789012345678901234567890..."},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = to_json(cases[i].text);
        char *mark = strchr(text, '!');
        size_t at = (size_t)(mark - text);
        memmove(mark, mark + 1, strlen(mark));
        struct salvage found = look_through(text, strlen(text), at);
        assert_string_equal(found.path, cases[i].path);
        json_decref(found.id);
    }
}

static void test_deep_paths_are_cut(void **state)
{
    static char text[1000];
    (void)state;
    for (size_t levels = 1; levels < 900; levels += 7) {
        memcpy(text, "{\"a\":", 5);
        memset(text + 5, '[', levels);
        struct salvage found = look_through(text, 5 + levels, 5 + levels);
        assert_memory_equal(found.path, "a", 1);
        assert_true(strlen(found.path) < SALVAGE_PATH_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_that_are_sure),
        cmocka_unit_test(test_ids_that_are_not),
        cmocka_unit_test(test_nul_bytes),
        cmocka_unit_test(test_broken_at_every_byte),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_deep_paths_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
