/* SPDX-License-Identifier: MIT */
#include "client/http/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_hosts(void **state)
{
    (void)state;
    assert_true(guard_host_is_local(NULL));
    assert_true(guard_host_is_local("localhost"));
    assert_true(guard_host_is_local("LocalHost:80"));
    assert_true(guard_host_is_local("127.0.0.1"));
    assert_true(guard_host_is_local("127.255.0.9:1"));
    assert_true(guard_host_is_local("[::1]"));
    assert_true(guard_host_is_local("[::1]:8650"));
    static const char *const foreign[] = {
        "",
        "localhost.",
        "localhost:",
        "localhost:8x",
        "localhost.evil.example",
        "128.0.0.1",
        "127.0.0.1.",
        "127.0.0.1.example",
        "127.0.0.1:1:1",
        "127.1",
        "[::1]x",
        "[::2]",
        "::1",
        "evil.example:127",
        "0x7f.0.0.1",
        "[::ffff:1]",
        "127.0.0.1 x",
        "user@localhost",
    };
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        assert_false(guard_host_is_local(foreign[i]));
}

static void test_origins(void **state)
{
    (void)state;
    assert_true(guard_origin_is_local(NULL));
    assert_true(guard_origin_is_local("http://localhost:3000"));
    assert_true(guard_origin_is_local("HTTPS://127.0.0.1"));
    assert_false(guard_origin_is_local(""));
    assert_false(guard_origin_is_local("null"));
    assert_false(guard_origin_is_local("http://"));
    assert_false(guard_origin_is_local("file://localhost"));
    assert_false(guard_origin_is_local("http://localhost/x"));
    assert_false(guard_origin_is_local("http://evil.example"));
}

static bool is_clear(const char *const headers[])
{
    struct guard_framing framing = {.knows_encodings = true};
    for (size_t i = 0; headers[i]; i += 2)
        guard_count_framing(&framing, headers[i], headers[i + 1]);
    return guard_framing_is_clear(&framing);
}

static void test_framing(void **state)
{
    (void)state;
    assert_true(is_clear((const char *const[]){NULL}));
    assert_true(
        is_clear((const char *const[]){"host", "a", "CONTENT-LENGTH", "5", "X", "y", NULL}));
    assert_true(is_clear((const char *const[]){"Transfer-Encoding", "Chunked", NULL}));
    assert_true(is_clear((const char *const[]){"Origin", "a", "Authorization", "b", NULL}));
    assert_false(is_clear((const char *const[]){"Host", "a", "host", "a", NULL}));
    assert_false(is_clear((const char *const[]){"Origin", "a", "ORIGIN", "a", NULL}));
    assert_false(is_clear((const char *const[]){"Authorization", "", "authorization", "a", NULL}));
    assert_false(
        is_clear((const char *const[]){"Content-Length", "5", "Content-length", "5", NULL}));
    assert_false(is_clear(
        (const char *const[]){"Content-Length", "5", "Transfer-Encoding", "chunked", NULL}));
    static const char *const encodings[] = {"", "xchunked", "identity", "gzip, chunked",
                                            "chunked "};
    for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++)
        assert_false(is_clear((const char *const[]){"Transfer-Encoding", encodings[i], NULL}));
}

static void test_what_others_may_read_in_another_way(void **state)
{
    static const char *const lengths[] = {"", " 5", "5 ", "+5", "5, 5", "0x5", "5\t"};
    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        assert_false(is_clear((const char *const[]){"Content-Length", lengths[i], NULL}));
    assert_false(is_clear((const char *const[]){"Content-Length ", "5", NULL}));
    assert_false(is_clear((const char *const[]){"Content-Length44", "", NULL}));
    assert_false(is_clear((const char *const[]){"transfer-encodingchunked", "", NULL}));
    assert_false(is_clear((const char *const[]){"X\ty", "z", NULL}));
    assert_false(is_clear((const char *const[]){"", "z", NULL}));
    assert_false(is_clear((const char *const[]){"X", "a\rContent-Length: 3", NULL}));
    assert_true(is_clear((const char *const[]){"X-a_b.1", "a\tb \xc3\xa4", NULL}));
}

static void test_bearers(void **state)
{
    (void)state;
    assert_string_equal(guard_bearer("Bearer abc"), "abc");
    assert_string_equal(guard_bearer("bEARER   abc"), "abc");
    assert_null(guard_bearer(NULL));
    assert_null(guard_bearer("Bearer"));
    assert_null(guard_bearer("Bearer  "));
    assert_null(guard_bearer("Basic abc"));
}

static void test_types(void **state)
{
    (void)state;
    assert_true(guard_is_type("application/json", "application/json"));
    assert_true(guard_is_type("Application/JSON;charset=utf-8", "application/json"));
    assert_false(guard_is_type("application/jsonx", "application/json"));
    assert_false(guard_is_type("application", "application/json"));
    assert_false(guard_is_type(NULL, "application/json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),   cmocka_unit_test(test_origins),
        cmocka_unit_test(test_framing), cmocka_unit_test(test_what_others_may_read_in_another_way),
        cmocka_unit_test(test_bearers), cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
