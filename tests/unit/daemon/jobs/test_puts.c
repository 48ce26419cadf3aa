/* SPDX-License-Identifier: MIT */
/* Tests what a connection keeps of the tests that it has put, and which of them make room. */
#include "daemon/jobs/puts.h"
#include "tests/unit/quoted.h"

#include <stdio.h>

#define BIG (1u << 20)

static size_t used, of_one, of_another;

/* Makes a set of one test that counts as SIZE bytes. */
static struct program_tests *make(size_t size)
{
    struct program_tests *tests = calloc(1, sizeof(*tests));
    assert_non_null(tests);
    tests->test = calloc(1, sizeof(*tests->test));
    assert_non_null(tests->test);
    tests->references = 1;
    tests->count = 1;
    tests->size = size;
    return tests;
}

static size_t *user = &of_one; /* who puts */

static int put(struct put_set *set, const char *name, size_t size, uint64_t per_client,
               uint64_t total, enum error_code *code, struct fault *fault)
{
    const struct put_bounds bounds = {
        .per_client = per_client, .total = total, .used = &used, .of_user = user};
    char digest[PROGRAM_DIGEST_SIZE] = "";
    struct program_tests *tests = make(size);
    (void)snprintf(digest, sizeof(digest), "%s", name);
    int r = put_set_add(set, digest, tests, &bounds, code, fault);
    if (r < 0)
        program_tests_unref(tests);
    return r;
}

static void keep(struct put_set *set, const char *name, size_t size, uint64_t per_client)
{
    enum error_code code;
    struct fault fault = FAULT_NULL;
    if (put(set, name, size, per_client, BIG, &code, &fault) != 0)
        fail_msg("%s: %s", name, fault.text);
}

static void refuse(struct put_set *set, size_t size, uint64_t per_client, uint64_t total,
                   enum error_code code, const char *message)
{
    enum error_code found = ERROR_DENIED;
    struct fault fault = FAULT_NULL;
    size_t count = set->count, before = used;
    assert_true(put(set, "new", size, per_client, total, &found, &fault) < 0);
    assert_int_equal(found, code);
    assert_string_equal(fault.text, message);
    assert_int_equal(set->count, count);
    assert_int_equal(used, before);
}

static void test_find(void **state)
{
    struct put_set set;
    (void)state;
    put_set_init(&set);
    keep(&set, "a", 100, 1000);
    keep(&set, "b", 200, 1000);
    assert_int_equal(used, 300);
    assert_int_equal(put_set_find(&set, "a")->size, 100);
    assert_int_equal(put_set_find(&set, "b")->size, 200);
    assert_null(put_set_find(&set, "c"));
    put_set_deinit(&set);
    put_set_deinit(&set);
    assert_int_equal(used, 0);
}

static void test_twice(void **state)
{
    struct put_set set;
    (void)state;
    put_set_init(&set);
    keep(&set, "a", 100, 1000);
    struct program_tests *first = put_set_find(&set, "a");
    keep(&set, "a", 100, 1000);
    assert_ptr_equal(put_set_find(&set, "a"), first);
    assert_int_equal(set.count, 1);
    assert_int_equal(used, 100);
    put_set_deinit(&set);
}

/* The least recently used makes room, but none that a job uses. */
static void test_room(void **state)
{
    struct put_set set;
    (void)state;
    put_set_init(&set);
    keep(&set, "a", 400, 1000);
    keep(&set, "b", 400, 1000);
    (void)put_set_find(&set, "a");
    keep(&set, "c", 400, 1000);
    assert_null(put_set_find(&set, "b"));
    struct program_tests *of_job = program_tests_ref(put_set_find(&set, "a"));
    (void)put_set_find(&set, "c"); /* `a` is now the least recently used */
    keep(&set, "d", 600, 1000);
    assert_non_null(put_set_find(&set, "a"));
    assert_null(put_set_find(&set, "c"));
    refuse(
        &set, 601, 1000, BIG, ERROR_INTERNAL,
        "tests: no room for 601 bytes among those that this connection's unfinished jobs use, of "
        "1000 (put_bytes_per_client of [program])");
    program_tests_unref(of_job);
    put_set_deinit(&set);
    assert_int_equal(used, 0);
}

static void test_refused(void **state)
{
    struct put_set set, other;
    (void)state;
    put_set_init(&set);
    put_set_init(&other);
    refuse(&set, 1001, 1000, BIG, ERROR_BAD_REQUEST,
           "tests: they take 1001 bytes, more than 1000 (put_bytes_per_client of [program])");
    keep(&other, "a", 600, 1000);
    refuse(&set, 500, 1000, 1000, ERROR_INTERNAL,
           "tests: no room for 500 bytes: the clients together have 1000 (put_bytes of [program])");
    put_set_deinit(&other);
    keep(&set, "a", 500, 1000);
    put_set_deinit(&set);
}

/* However many connections a user has, another always finds room. */
static void test_one_user_leaves_room_for_another(void **state)
{
    struct put_set sets[3], other;
    enum error_code code;
    struct fault fault = FAULT_NULL;
    (void)state;
    for (size_t i = 0; i < 3; i++)
        put_set_init(&sets[i]);
    put_set_init(&other);
    assert_int_equal(put(&sets[0], "a", 400, 1000, 1000, &code, &fault), 0);
    assert_int_equal(put(&sets[1], "b", 350, 1000, 1000, &code, &fault), 0);
    refuse(&sets[2], 10, 1000, 1000, ERROR_INTERNAL,
           "tests: no room for 10 bytes: the clients of this user together have 1000 (put_bytes of "
           "[program]), and the rest is kept for other users");
    user = &of_another;
    assert_int_equal(put(&other, "a", 180, 1000, 1000, &code, &fault), 0);
    user = &of_one;
    refuse(&sets[2], 1, 1000, 1000, ERROR_INTERNAL,
           "tests: no room for 1 bytes: the clients of this user together have 1000 (put_bytes of "
           "[program]), and the rest is kept for other users");
    for (size_t i = 0; i < 3; i++)
        put_set_deinit(&sets[i]);
    assert_int_equal(of_one, 0);
    put_set_deinit(&other);
    assert_int_equal(used + of_another, 0);
}

/* What a job still uses counts until it ends. */
static void test_jobs_outlive_the_connection(void **state)
{
    struct put_set set;
    (void)state;
    put_set_init(&set);
    keep(&set, "a", 100, 1000);
    struct program_tests *of_job = program_tests_ref(put_set_find(&set, "a"));
    put_set_deinit(&set);
    assert_int_equal(used, 100);
    assert_int_equal(of_job->count, 1);
    program_tests_unref(of_job);
    assert_int_equal(used, 0);
}

static int put_part(struct put_set *set, const char *name, unsigned number, unsigned count,
                    uint64_t per_client, const char *message)
{
    const struct put_bounds bounds = {
        .per_client = per_client, .total = BIG, .used = &used, .of_user = user};
    const struct bytes text = {.data = (char[]){"[{}]"}, .length = 4};
    char digest[PROGRAM_DIGEST_SIZE] = "";
    const struct put_part part = {.digest = digest,
                                  .number = number,
                                  .count = count,
                                  .tests = make(sizeof(struct program_tests) + 100),
                                  .text = &text};
    const struct program_tests *all = NULL;
    enum error_code code = ERROR_DENIED;
    struct fault fault = FAULT_NULL;
    (void)snprintf(digest, sizeof(digest), "%s", name);
    int r = put_set_add_part(set, &part, &bounds, &all, &code, &fault);
    assert_string_equal(fault.text, message);
    if (r == 0)
        assert_int_equal(all->count, number);
    return r;
}

static void test_parts(void **state)
{
    struct put_set set;
    char two[PROGRAM_DIGEST_SIZE];
    const size_t size = sizeof(struct program_tests);
    (void)state;
    put_set_init(&set);
    program_digest("[{},{}]", strlen("[{},{}]"), two);
    assert_int_equal(put_part(&set, two, 1, 2, BIG, ""), 0);
    assert_int_equal(used, size + 100);
    assert_null(put_set_find(&set, two));
    assert_int_equal(put_part(&set, two, 2, 2, BIG, ""), 0);
    assert_int_equal(used, size + 200);
    assert_int_equal(*user, used); /* each part counts for its user, too */
    assert_int_equal(put_set_find(&set, two)->count, 2);
    /* Nothing is left of what goes wrong, and the whole set stays. */
    assert_int_equal(put_part(&set, "other", 1, 2, BIG, ""), 0);
    assert_int_equal(used, 2 * size + 300);
    char message[128];
    (void)snprintf(message, sizeof(message),
                   "tests: they take %zu bytes, more than %zu (put_bytes_per_client of [program])",
                   size + 100, size + 50);
    assert_true(put_part(&set, "other", 1, 3, size + 50, message) < 0);
    assert_int_equal(used, size + 200);
    assert_int_equal(set.count, 1);
    assert_int_equal(put_part(&set, "other", 1, 2, BIG, ""), 0);
    put_set_deinit(&set);
    assert_int_equal(used, 0);
    assert_int_equal(*user, 0);
}

/* What a job uses stays in the set and counts for its user, whoever puts it in parts once more. */
static void test_parts_of_what_a_job_uses(void **state)
{
    struct put_set set;
    char two[PROGRAM_DIGEST_SIZE];
    (void)state;
    put_set_init(&set);
    program_digest("[{},{}]", strlen("[{},{}]"), two);
    assert_int_equal(put_part(&set, two, 1, 2, BIG, ""), 0);
    assert_int_equal(put_part(&set, two, 2, 2, BIG, ""), 0);
    struct program_tests *of_job = program_tests_ref(put_set_find(&set, two));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(put_part(&set, two, 1, 2, BIG, ""), 0);
        assert_int_equal(put_part(&set, two, 2, 2, BIG, ""), 0);
        assert_ptr_equal(put_set_find(&set, two), of_job);
        assert_int_equal(set.count, 1);
        assert_int_equal(set.bytes, used);
        assert_int_equal(*user, used);
    }
    put_set_deinit(&set);
    program_tests_unref(of_job);
    assert_int_equal(used, 0);
}

/* What came of the tests counts once: others have taken the room, and not the jobs of this client.
 */
static void test_why_a_later_part_is_refused(void **state)
{
    const size_t size = sizeof(struct program_tests) + 100;
    struct put_set set, other;
    char message[256];
    (void)state;
    put_set_init(&set);
    put_set_init(&other);
    assert_int_equal(put_part(&set, "a", 1, 2, 3 * size - 1, ""), 0);
    keep(&other, "b", BIG / 8 * 5, BIG);
    (void)snprintf(
        message, sizeof(message),
        "tests: no room for %zu bytes: the clients of this user together have %u (put_bytes "
        "of [program]), and the rest is kept for other users",
        size, BIG);
    keep(&other, "c", BIG / 8 - size, BIG);
    assert_true(put_part(&set, "a", 2, 2, 3 * size - 1, message) < 0);
    put_set_deinit(&set);
    put_set_deinit(&other);
    assert_int_equal(used, 0);
}

static void test_many(void **state)
{
    struct put_set set;
    char name[16];
    (void)state;
    put_set_init(&set);
    for (int i = 0; i < PUTS_MAX + 3; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        keep(&set, name, 1, BIG);
    }
    assert_int_equal(set.count, PUTS_MAX);
    assert_null(put_set_find(&set, "2"));
    assert_non_null(put_set_find(&set, "3"));
    put_set_deinit(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_one_user_leaves_room_for_another),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_parts_of_what_a_job_uses),
        cmocka_unit_test(test_why_a_later_part_is_refused),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_jobs_outlive_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
