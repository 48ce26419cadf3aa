/* SPDX-License-Identifier: MIT */
/* The reserve is what libevent and jansson get when there is no memory, once. */
#include "daemon/base/reserve.h"
#include "proto/json.h"

#include <event2/buffer.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>

#include <cmocka.h>

static struct rlimit before;

/* Uses up the heap, and forbids more. */
static void take_all_memory(void **blocks, size_t count)
{
    struct rlimit none = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
    size_t size = 32u << 10;
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    none.rlim_max = before.rlim_max;
    (void)malloc_trim(0);
    assert_int_equal(setrlimit(RLIMIT_DATA, &none), 0);
    for (size_t i = 0; i < count; i++) {
        while (size >= 16 && !(blocks[i] = malloc(size)))
            size /= 2;
    }
}

static void give_back(void **blocks, size_t count)
{
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
}

static void test_what_must_not_fail(void **state)
{
    static void *blocks[4096];
    static const char data[4096];
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it ends a program that has no memory */
#endif
    assert_int_equal(reserve_init(), 0);
    struct evbuffer *buffer = evbuffer_new();
    assert_non_null(buffer);
    take_all_memory(blocks, ARRAY_SIZE(blocks));
    void *plain = malloc(32u << 10);
    int added = evbuffer_add(buffer, data, sizeof(data));
    json_t *value = json_stringn_nocheck(data, sizeof(data)); /* the reserve has room for both */
    bool is_held = reserve_give_up();
    give_back(blocks, ARRAY_SIZE(blocks));
    assert_null(plain);
    assert_int_equal(added, 0);
    assert_non_null(value);
    assert_false(is_held);
    json_decref(value);
    json_decref(json_object()); /* takes it again */
    assert_true(reserve_give_up());
    evbuffer_free(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_must_not_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
