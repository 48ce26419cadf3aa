/* SPDX-License-Identifier: MIT */
#include "client/pending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct bytes payload = {.data = (char[]){"{\"é\":1}"}, .length = 8};

static int add(struct pending *pending, const char *id, size_t n)
{
    struct bytes bytes = BYTES_NULL;
    assert_int_equal(bytes_copy(id, n, &bytes), 0);
    int r = pending_add(pending, &bytes, NULL, &payload);
    bytes_deinit(&bytes);
    return r;
}

/* Whether ID was there. */
static bool take(struct pending *pending, const char *id, size_t n)
{
    json_t *note = pending_take(pending, id, n);
    json_decref(note);
    return note != NULL;
}

static void assert_listed(const struct pending *pending, size_t max, const char *expected)
{
    _cleanup_free_ char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    pending_put(out, pending, max);
    (void)fclose(out);
    assert_string_equal(text, expected);
}

static void test_set(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    assert_int_equal(pending_count(&pending), 0);
    assert_int_equal(add(&pending, "a", 1), 0);
    assert_int_equal(add(&pending, "a", 1), -EEXIST);
    assert_int_equal(add(&pending, "b", 1), 0);
    assert_int_equal(pending_count(&pending), 2);
    assert_true(take(&pending, "a", 1));
    assert_false(take(&pending, "a", 1));
    assert_int_equal(add(&pending, "a", 1), 0);
    assert_listed(&pending, 5, "b, a");
}

static void test_nul_in_ids(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    assert_int_equal(add(&pending, "a", 1), 0);
    assert_int_equal(add(&pending, "a\0b", 3), 0);
    assert_int_equal(add(&pending, "a\0c", 3), 0);
    assert_int_equal(add(&pending, "a\0b", 3), -EEXIST);
    assert_listed(&pending, 5, "a, a\\x00b, a\\x00c");
    assert_true(take(&pending, "a\0b", 3));
    assert_false(take(&pending, "a\0d", 3));
    assert_listed(&pending, 5, "a, a\\x00c");
}

static void test_notes(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    struct bytes a = {.data = (char[]){"a"}, .length = 1}, b = {.data = (char[]){"b"}, .length = 1};
    json_t *note = json_integer(7), *other = json_integer(8);
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    assert_int_equal(pending_add(&pending, &a, note, &payload), 0);
    assert_int_equal(pending_add(&pending, &a, other, &payload), -EEXIST);
    assert_int_equal(other->refcount, 1);
    assert_int_equal(pending_add(&pending, &b, NULL, &payload), 0);
    json_t *taken = pending_take(&pending, "a", 1);
    assert_ptr_equal(taken, note);
    assert_int_equal(note->refcount, 2);
    json_t *none = pending_take(&pending, "b", 1);
    assert_true(json_is_null(none));
    assert_null(pending_take(&pending, "a", 1));
    json_decref(taken);
    json_decref(note);
    json_decref(other);
}

static void test_list_is_cut(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    char id[16];
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    assert_listed(&pending, 5, "");
    for (int i = 0; i < 1000; i++) {
        int n = snprintf(id, sizeof(id), "job%d", i);
        assert_int_equal(add(&pending, id, (size_t)n), 0);
    }
    assert_listed(&pending, 3, "job0, job1, job2 and 997 more");
}

struct seen {
    size_t n, most;
};

static bool look(const char *id, size_t n, const struct bytes *got, void *arg)
{
    struct seen *seen = arg;
    assert_int_equal(n, 4);
    assert_int_equal(id[3], '0' + (int)seen->n);
    assert_int_equal(got->length, payload.length);
    assert_memory_equal(got->data, payload.data, payload.length);
    return ++seen->n < seen->most;
}

static void test_each_has_its_payload(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    struct seen seen = {.most = 9};
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    for (int i = 0; i < 5; i++) {
        char id[5];
        (void)snprintf(id, sizeof(id), "job%d", i);
        assert_int_equal(add(&pending, id, 4), 0);
    }
    pending_each(&pending, look, &seen);
    assert_int_equal(seen.n, 5);
    seen = (struct seen){.most = 2};
    pending_each(&pending, look, &seen);
    assert_int_equal(seen.n, 2);
    assert_true(pending_has(&pending, "job3", 4));
    assert_false(pending_has(&pending, "job", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_nul_in_ids),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_list_is_cut),
        cmocka_unit_test(test_each_has_its_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
