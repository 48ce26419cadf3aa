/* SPDX-License-Identifier: MIT */
#include "client/batch/idmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MANY 20000

static void test_values(void **state)
{
    struct idmap map = IDMAP_NULL;
    (void)state;
    assert_null(idmap_find(&map, "a", 1));
    uint64_t *value = idmap_put(&map, "a", 1);
    assert_non_null(value);
    assert_int_equal(*value, 0);
    *value = 7;
    assert_int_equal(*idmap_put(&map, "a", 1), 7);
    assert_int_equal(map.n, 1);
    assert_null(idmap_find(&map, "a\0", 2));
    assert_null(idmap_find(&map, "", 0));
    idmap_deinit(&map);
}

static void test_many(void **state)
{
    struct idmap map = IDMAP_NULL;
    char id[16];
    (void)state;
    for (uint64_t i = 0; i < MANY; i++) {
        size_t n = (size_t)snprintf(id, sizeof(id), "job-%d", (int)i);
        *idmap_put(&map, id, n) = i + 1;
    }
    assert_int_equal(map.n, MANY);
    for (uint64_t i = 0; i < MANY; i++) {
        size_t n = (size_t)snprintf(id, sizeof(id), "job-%d", (int)i);
        const uint64_t *value = idmap_find(&map, id, n);
        assert_non_null(value);
        assert_int_equal(*value, i + 1);
    }
    assert_null(idmap_find(&map, "job-x", 5));
    idmap_deinit(&map);
}

/* The reserved room is enough: memory does not grow any more. */
static void test_reserve(void **state)
{
    struct idmap map = IDMAP_NULL;
    char id[16];
    (void)state;
    *idmap_put(&map, "first", 5) = 1;
    assert_int_equal(idmap_reserve(&map, MANY), 0);
    size_t room = map.room;
    for (int i = 1; i < MANY; i++) {
        size_t n = (size_t)snprintf(id, sizeof(id), "%d", i);
        assert_non_null(idmap_put(&map, id, n));
    }
    assert_int_equal(map.room, room);
    assert_int_equal(map.n, MANY);
    assert_int_equal(*idmap_find(&map, "first", 5), 1);
    assert_int_equal(idmap_reserve(&map, 10), 0);
    assert_int_equal(map.room, room);
    idmap_deinit(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
