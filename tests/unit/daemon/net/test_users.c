/* SPDX-License-Identifier: MIT */
#include "daemon/net/users.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void disconnect_all(const struct users *users)
{
    for (size_t i = 0; i < USER_BUCKETS; i++)
        while (!LIST_EMPTY(&users->buckets[i]))
            (void)user_leave(LIST_FIRST(&users->buckets[i]));
}

static void test_a_user_lives_as_long_as_his_connections(void **state)
{
    struct users users;
    (void)state;
    users_init(&users);
    struct user *a = users_join(&users, 1, NULL), *b = users_join(&users, 1 + USER_BUCKETS, NULL);
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(users_join(&users, 1, NULL), a);
    assert_int_equal(a->connections, 2);
    assert_null(user_leave(a));
    assert_ptr_equal(users_join(&users, 1, NULL), a);
    (void)user_leave(a);
    (void)user_leave(a);
    (void)user_leave(b);
    for (size_t i = 0; i < USER_BUCKETS; i++)
        assert_true(LIST_EMPTY(&users.buckets[i]));
}

/* Each share of a uid is one more user, and what names none is another. */
static void test_a_share_is_a_user(void **state)
{
    struct users users;
    char name[] = "alice";
    (void)state;
    users_init(&users);
    struct user *none = users_join(&users, 1, NULL), *alice = users_join(&users, 1, name),
                *bob = users_join(&users, 1, "bob"), *other = users_join(&users, 2, "alice");
    name[0] = 'A'; /* the table has a copy */
    assert_ptr_equal(users_join(&users, 1, "alice"), alice);
    assert_string_equal(alice->share, "alice");
    assert_int_equal(alice->connections, 2);
    assert_null(none->share);
    assert_int_equal(user_number(none), none->uid);
    assert_int_not_equal(user_number(alice), none->uid);
    assert_int_equal(none->connections, 1);
    assert_ptr_not_equal(alice, bob);
    assert_ptr_not_equal(alice, other);
    disconnect_all(&users);
}

/* A gateway has as many connections as any user, and of these a share leaves some to the others. */
static void test_connections_of_shares(void **state)
{
    struct users users;
    (void)state;
    users_init(&users);
    for (int i = 0; i < 6; i++)
        assert_non_null(users_join(&users, 1, i % 2 ? "alice" : "bob"));
    assert_true(users_admit(&users, 1, 3));
    assert_false(users_admit(&users, 1, 2));
    assert_true(users_admit(&users, 2, 1));
    assert_false(users_admit(&users, 2, 0));
    /* With 4 more it may have 7: 1 is left of these, and one of three connections leaves that. */
    assert_true(users_admit_share(&users, 1, "alice", 4));
    assert_false(users_admit_share(&users, 1, "alice", 3));
    assert_true(users_admit_share(&users, 1, "carol", 0));
    for (int i = 0; i < 3; i++)
        assert_non_null(users_join(&users, 1, "alice"));
    assert_false(users_admit_share(&users, 1, "alice", 5));
    assert_true(users_admit_share(&users, 1, "alice", 6));
    disconnect_all(&users);
}

/* Connects as UID until that is refused; returns how many connections that made. */
static size_t connect_all(struct users *users, uid_t uid, size_t *free)
{
    size_t count = 0;
    for (; users_admit(users, uid, *free); count++, (*free)--)
        assert_non_null(users_join(users, uid, NULL));
    return count;
}

static void test_shares_of_the_connections(void **state)
{
    static const struct {
        size_t max, shares[4];
    } cases[] = {
        {2048, {1536, 384, 96, 24}}, {100, {75, 19, 5, 1}}, {4, {3, 1, 0, 0}},
        {3, {3, 0, 0, 0}},           {1, {1, 0, 0, 0}},     {0, {0, 0, 0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct users users;
        size_t free = cases[i].max;
        users_init(&users);
        for (uid_t uid = 0; uid < 4; uid++)
            assert_int_equal(connect_all(&users, uid, &free), cases[i].shares[uid]);
        disconnect_all(&users);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_user_lives_as_long_as_his_connections),
        cmocka_unit_test(test_a_share_is_a_user),
        cmocka_unit_test(test_connections_of_shares),
        cmocka_unit_test(test_shares_of_the_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
