/* SPDX-License-Identifier: MIT */
#include "client/http/listen.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool local, network;
    } table[] = {
        {"127.0.0.1:8650", true, true},    {"127.3.2.1:0", true, true},
        {"0.0.0.0:80", false, true},       {"10.1.2.3:65535", false, true},
        {"[::1]:8650", true, true},        {"[::]:1", false, true},
        {"[2001:db8::1]:80", false, true}, {"unix:/run/x", true, false},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct listen_address address;
        char text[LISTEN_TEXT_MAX];
        assert_int_equal(listen_parse(table[i].text, &address), 0);
        assert_int_equal(listen_is_local(&address), table[i].local);
        assert_int_equal(listen_is_network(&address), table[i].network);
        listen_print(&address, text);
        assert_string_equal(text, table[i].text);
    }
}

static void test_no_addresses(void **state)
{
    (void)state;
    static const char *const table[] = {
        "",
        "8650",
        "localhost:80",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:+1",
        "127.0.0.1:80 ",
        "::1:80",
        "[::1]",
        "[::1]80",
        "[::1]:",
        "[fe80::1%lo]:80",
        "unix:x",
        "unix:/",
        "unix:",
        "256.0.0.1:1",
        "127.1:80",
        "[127.0.0.1]:80",
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct listen_address address;
        assert_int_equal(listen_parse(table[i], &address), -EINVAL);
    }
}

static void test_an_address_in_use(void **state)
{
    (void)state;
    static const char *const table[] = {"127.0.0.1:0", "[::1]:0", "unix:"};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct listen_address address;
        struct fault fault = FAULT_NULL;
        char text[LISTEN_TEXT_MAX], expected[LISTEN_TEXT_MAX + 128];
        int first = -1, second = -1;
        (void)snprintf(text, sizeof(text), "%s", table[i]);
        if (strncmp(text, "unix:", 5) == 0)
            (void)snprintf(text, sizeof(text), "unix:/tmp/rubricd-test-listen.%d", (int)getpid());
        assert_int_equal(listen_parse(text, &address), 0);
        if (listen_open(&address, 0600, &first, &fault) < 0) {
            assert_string_equal(text, "[::1]:0"); /* a host may have no IPv6 */
            continue;
        }
        assert_int_equal(listen_find(first, &address), 0);
        listen_print(&address, text);
        assert_int_equal(listen_open(&address, 0600, &second, &fault), -EADDRINUSE);
        (void)snprintf(expected, sizeof(expected),
                       "cannot listen on %s: Address already in use; `listen` in http.conf names "
                       "another address",
                       text);
        assert_string_equal(fault.text, expected);
        assert_int_equal(second, -1);
        (void)close(first);
        if (address.of.generic.sa_family == AF_UNIX)
            (void)unlink(address.of.local.sun_path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_no_addresses),
        cmocka_unit_test(test_an_address_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
