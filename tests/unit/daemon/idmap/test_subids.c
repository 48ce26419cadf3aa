/* SPDX-License-Identifier: MIT */
/* Which lines of /etc/subuid grant an account ids. */
#include "daemon/idmap/subids.h"
#include "daemon/jail/idmap.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define UID 990

static int find(const char *text, struct subids *ret)
{
    FILE *file = fmemopen((char *)(uintptr_t)text, strlen(text) + 1, "r");
    assert_non_null(file);
    int r = subids_find(file, "rubricd", UID, ret);
    (void)fclose(file);
    return r;
}

static void test_ranges(void **state)
{
    static const struct {
        const char *text;
        uint32_t first, count;
    } cases[] = {
        {"rubricd:100000:65536\n", 100000, 65536},
        {"990:100000:2000\n", 100000, 2000},
        {"other:5:5\nrubricd:7:1\nrubricd:8:1\n", 7, 1},
        {"rubricd:1:4294967294\n", 1, IDMAP_COUNT_MAX},
        {"rubricd:4294967294:1\n", UINT32_MAX - 1, 1},
        {"rubricd:x:1\nrubricd:9:3\n", 9, 3},
        {"# rubricd\n\nrubricd:9:3", 9, 3},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct subids ids = {0};
        assert_int_equal(find(cases[i].text, &ids), 0);
        assert_int_equal(ids.first, cases[i].first);
        assert_int_equal(ids.count, cases[i].count);
    }
}

static void test_no_range(void **state)
{
    static const char *const texts[] = {
        " ",
        "other:100000:65536\n",
        "rubric:100000:65536\n",
        "rubricd2:100000:65536\n",
        "99:100000:65536\n",
        "9900:100000:65536\n",
        "rubricd:100000\n",
        "rubricd::65536\n",
        "rubricd:100000:\n",
        "rubricd:-1:65536\n",
        "rubricd:+1:65536\n",
        "rubricd: 1:65536\n",
        "rubricd:100000:65536:\n",
        "rubricd:100000 :65536\n",
        "rubricd:100000:65536 \n",
        "rubricd:100000x:65536\n",
        "rubricd:0:65536\n", /* root */
        "rubricd:100000:0\n",
        "rubricd:4294967295:1\n",
        "rubricd:4294967294:2\n",
        "rubricd:4294967296:1\n",
        "rubricd:18446744073709551617:1\n",
        ":100000:65536\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct subids ids = {.first = 42};
        if (find(texts[i], &ids) != -ENODATA)
            fail_msg("%s", texts[i]);
        assert_int_equal(ids.first, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_no_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
