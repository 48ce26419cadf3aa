/* SPDX-License-Identifier: MIT */
#include "client/fleet/addresses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define FORMS                                                                                 \
    "; expected nats://HOST:PORT or nats://USER:PASSWORD@HOST:PORT, where user and password " \
    "have %XX for all but letters and digits"
#define LACKS_SCHEME                                                                           \
    " does not begin with nats:// or tls://, as it must where a user or token is given; in a " \
    "password, a comma is %2C and a space is %20"
#define UNREADABLE                                                                            \
    "URL: the user, password or token of server 1 is empty, or has a % that is not followed " \
    "by two hexadecimal digits (%25 is a %, %00 is not allowed)"

static void check_text(const char *got, const char *expected)
{
    if (expected)
        assert_string_equal(got, expected);
    else
        assert_null(got);
}

static void test_what_is_read(void **state)
{
    static const struct {
        const char *text, *servers;
        bool want_tls;
        const char *user, *password, *token;
    } rows[] = {
        {.text = "nats://a:4222", .servers = "nats://a:4222"},
        {.text = "a", .servers = "nats://a"},
        {.text = "a:1, b-c_d.e:65535", .servers = "nats://a:1, nats://b-c_d.e:65535"},
        {.text = ",nats://a\t\n\v\f\rnats://b/ ,", .servers = "nats://a, nats://b"},
        {.text = "nats://[::1]:4222,[fe80::1%eth0]",
         .servers = "nats://[::1]:4222, nats://[fe80::1%eth0]"},
        {.text = "tls://a:1", .servers = "tls://a:1", .want_tls = true},
        {.text = "\t\n TLS://a:1", .servers = "tls://a:1", .want_tls = true},
        {.text = "nats://a\n tls://b", .servers = "nats://a, tls://b", .want_tls = true},
        {.text = "tls://a nats://b", .servers = "tls://a, nats://b", .want_tls = true},
        {.text = "nats://u:p@a:1", .servers = "nats://a:1", .user = "u", .password = "p"},
        {.text = "tls://t@a", .servers = "tls://a", .want_tls = true, .token = "t"},
        {
            .text = "nats://a%3ab:p%2Cw%20d%2F%40%3Ax%25@h:1",
            .servers = "nats://h:1",
            .user = "a:b",
            .password = "p,w d/@:x%",
        },
        {.text = "nats://t%3A%c3%A4@h", .servers = "nats://h", .token = "t:\xc3\xa4"},
        {.text = "nats://u:p/@:?#[x@h", .servers = "nats://h", .user = "u", .password = "p/@:?#[x"},
        {
            .text = "nats://a,nats://u:p@b,nats://u:%70@c",
            .servers = "nats://a, nats://b, nats://c",
            .user = "u",
            .password = "p",
        },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct addresses addresses = ADDRESSES_NULL;
        struct fault fault = FAULT_NULL;
        char servers[256];
        int r = addresses_read("URL", &rows[i].text, 1, &addresses, &fault);
        assert_string_equal(fault.text, "");
        assert_int_equal(r, 0);
        addresses_list(&addresses, servers, sizeof(servers));
        assert_string_equal(servers, rows[i].servers);
        assert_int_equal(addresses.want_tls, rows[i].want_tls);
        check_text(addresses.user, rows[i].user);
        check_text(addresses.password, rows[i].password);
        check_text(addresses.token, rows[i].token);
        addresses_deinit(&addresses);
    }
}

/* The complaints are whole: nothing else of the text is shown. */
static void test_what_is_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "URL: it names no server"},
        {" ,\n\t", "URL: it names no server"},
        {"nats://", "URL: server 1 has no host" FORMS},
        {"a,nats://:4222", "URL: server 2 has no host" FORMS},
        {"nats://u:p@", "URL: server 1 has no host" FORMS},
        {"nats://ci:SECRET", "URL: the port of server 1 is no number from 1 to 65535" FORMS},
        {"nats://SE%2CCRET", "URL: the host of server 1 is no name and no address" FORMS},
        {"nats://a:0", "URL: the port of server 1 is no number from 1 to 65535" FORMS},
        {"nats://a:65536", "URL: the port of server 1 is no number from 1 to 65535" FORMS},
        {"nats://a:65537", "URL: the port of server 1 is no number from 1 to 65535" FORMS},
        {"nats://a:18446744073709555838",
         "URL: the port of server 1 is no number from 1 to 65535" FORMS},
        {"nats://a:", "URL: the port of server 1 is no number from 1 to 65535" FORMS},
        {"nats://a:1/x", "URL: the port of server 1 is no number from 1 to 65535" FORMS},
        {"nats://::1", "URL: server 1 has no host" FORMS},
        {"nats://[::1", "URL: the host of server 1 is no name and no address" FORMS},
        {"nats://[abc", "URL: the host of server 1 is no name and no address" FORMS},
        {"nats://[::1]x:1", "URL: the host of server 1 is no name and no address" FORMS},
        {"nats://[]:1", "URL: the host of server 1 is no name and no address" FORMS},
        {"tls:/a:1", "URL: the port of server 1 is no number from 1 to 65535" FORMS},
        {"nats://\xc3\xa4:1", "URL: the host of server 1 is no name and no address" FORMS},
        /* Pieces of a password. */
        {"nats://ci:SE,CRET@a:1", "URL: server 2" LACKS_SCHEME},
        {"nats://ci:SE CRET@a:1", "URL: server 2" LACKS_SCHEME},
        {"nats://rubricd:p,w d/@:x@a:1", "URL: server 2" LACKS_SCHEME},
        {"nats://ci:12,b@c,d@a:1", "URL: server 2" LACKS_SCHEME},
        {"nats://ci:pa@ss word", "URL: server 2" LACKS_SCHEME},
        {"ci:SECRET@a:1", "URL: server 1" LACKS_SCHEME},
        {"nats://b:1,a@SECRET", "URL: server 2" LACKS_SCHEME},
        {"nats://ci:SE://CRET@:1", "URL: server 1 has no host" FORMS},
        {"SE://CRET@a:1", "URL: server 1 (***://a:1): its scheme is neither nats:// nor tls://"},
        {"nats://ci:SECRET@b:x", "URL: the port of server 1 is no number from 1 to 65535" FORMS},
        {"nats://ci:SECRET@b/SECRET", "URL: the host of server 1 is no name and no address" FORMS},
        {"nats://ci:SE%4@a:1", UNREADABLE},
        {"nats://ci:SE%zz@a:1", UNREADABLE},
        {"nats://ci:SE%@a:1", UNREADABLE},
        {"nats://ci:SE%00CRET@a:1", UNREADABLE},
        {"nats://c%i:SECRET@a:1", UNREADABLE},
        {"nats://:SECRET@a:1", UNREADABLE},
        {"nats://ci:@a:1", UNREADABLE},
        {"nats://@a:1", UNREADABLE},
        {
            "nats://ci:SECRET@a,nats://ci:OTHER@b",
            "URL: server 2 has another user, password or token than the one before: all servers "
            "are shown the same",
        },
        {
            "nats://ci@a,nats://ci:OTHER@b",
            "URL: server 2 has another user, password or token than the one before: all servers "
            "are shown the same",
        },
        /* Other schemes. */
        {"wss://a:1", "URL: server 1 (wss://a:1): its scheme is neither nats:// nor tls://"},
        {"a:1 WS://ci:SECRET@[::1]:2", "URL: server 1" LACKS_SCHEME},
        {
            "tls://a:1 WS://ci:SECRET@[::1]:2",
            "URL: server 2 (ws://[::1]:2): its scheme is neither nats:// nor tls://",
        },
        {"://a:1", "URL: server 1 (***://a:1): its scheme is neither nats:// nor tls://"},
        {"nats ://a:1", "URL: server 2 (***://a:1): its scheme is neither nats:// nor tls://"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct addresses addresses = ADDRESSES_NULL;
        struct fault fault = FAULT_NULL;
        assert_int_equal(addresses_read("URL", &rows[i].text, 1, &addresses, &fault), -EINVAL);
        assert_string_equal(fault.text, rows[i].message);
        assert_int_equal(addresses.n, 0);
        assert_null(addresses.user);
        assert_null(addresses.token);
    }
}

static void test_several_texts(void **state)
{
    static const char *const texts[] = {"nats://t@a nats://b", "c", "wss://d:1"};
    struct addresses addresses = ADDRESSES_NULL;
    struct fault fault = FAULT_NULL;
    char servers[256];
    (void)state;
    assert_int_equal(addresses_read("--server", texts, 2, &addresses, &fault), 0);
    addresses_list(&addresses, servers, sizeof(servers));
    assert_string_equal(servers, "nats://a, nats://b, nats://c");
    assert_string_equal(addresses.token, "t");
    addresses_deinit(&addresses);
    assert_int_equal(addresses_read("--server", texts, 3, &addresses, &fault), -EINVAL);
    assert_string_equal(fault.text,
                        "--server: server 4 (wss://d:1): its scheme is neither nats:// nor tls://");
}

static void test_the_most_servers(void **state)
{
    char text[BUS_SERVERS_MAX * 3 + 2] = "", *at = text;
    const char *const texts[] = {text};
    struct addresses addresses = ADDRESSES_NULL;
    struct fault fault = FAULT_NULL;
    (void)state;
    for (int i = 0; i < BUS_SERVERS_MAX; i++)
        at += sprintf(at, "h%c,", 'a' + i % 26);
    assert_int_equal(addresses_read("URL", texts, 1, &addresses, &fault), 0);
    assert_int_equal(addresses.n, BUS_SERVERS_MAX);
    assert_string_equal(addresses.urls[BUS_SERVERS_MAX - 1], "nats://hf");
    addresses_deinit(&addresses);
    (void)strcpy(at, "x");
    assert_int_equal(addresses_read("URL", texts, 1, &addresses, &fault), -EINVAL);
    assert_string_equal(fault.text, "URL: it names more than 32 servers");
}

/* A host of any length is none, rather than one that is cut. */
static void test_a_long_host(void **state)
{
    char text[300];
    const char *const texts[] = {text};
    struct addresses addresses = ADDRESSES_NULL;
    struct fault fault = FAULT_NULL;
    (void)state;
    memset(text, 'a', sizeof(text));
    text[255] = '\0';
    assert_int_equal(addresses_read("URL", texts, 1, &addresses, &fault), 0);
    assert_int_equal(strlen(addresses.urls[0]), strlen("nats://") + 255);
    addresses_deinit(&addresses);
    text[255] = 'a';
    text[256] = '\0';
    assert_int_equal(addresses_read("URL", texts, 1, &addresses, &fault), -EINVAL);
    assert_string_equal(fault.text, "URL: the host of server 1 is no name and no address" FORMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_read),  cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_several_texts), cmocka_unit_test(test_the_most_servers),
        cmocka_unit_test(test_a_long_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
