/* SPDX-License-Identifier: MIT */
#include "client/http/descriptors.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_bound(void **state)
{
    (void)state;
    static const struct {
        uint64_t limit;
        size_t tokens;
        unsigned wanted, connections;
        int r;
        const char *text;
    } table[] = {
        {UINT64_MAX, 3, 4096, 4096, 0, ""},
        {4122, 0, 4096, 4096, 0, ""},
        {4121, 0, 4096, 4095, 1,
         "connections is 4096, but 4121 open files (RLIMIT_NOFILE) suffice for 4095, which it is "
         "now"},
        {1024, 10, 4096, 925, 1,
         "connections is 4096, but 1024 open files (RLIMIT_NOFILE) suffice for 925, which it is "
         "now"},
        {42, 0, 20, 16, 1,
         "connections is 20, but 42 open files (RLIMIT_NOFILE) suffice for 16, which it is now"},
        {41, 0, 20, 20, -EINVAL,
         "connections is 20, but 41 open files (RLIMIT_NOFILE) suffice for 15: at least 42 files "
         "are needed"},
        {64, 2, 4096, 4096, -EINVAL,
         "connections is 4096, but 64 open files (RLIMIT_NOFILE) suffice for 0: at least 107 files "
         "are needed"},
        {28, 0, 2, 2, 0, ""},
        {27, 0, 2, 2, -EINVAL,
         "connections is 2, but 27 open files (RLIMIT_NOFILE) suffice for 1: at least 28 files are "
         "needed"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct fault fault = FAULT_NULL;
        unsigned connections = table[i].wanted;
        assert_int_equal(descriptors_bound(table[i].limit, table[i].tokens, &connections, &fault),
                         table[i].r);
        assert_int_equal(connections, table[i].connections);
        assert_string_equal(fault.text, table[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
