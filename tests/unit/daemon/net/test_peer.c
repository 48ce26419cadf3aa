/* SPDX-License-Identifier: MIT */
/* Tests which accounts may administer: root, the daemon's own user, and members of the listed
 * groups, by their membership when they connected. */
#include "daemon/net/peer.h"
#include "tests/unit/scenario.h"

#include <grp.h>

/* A uid and gid that neither root nor the user of this test has. */
#define STRANGER 54321
#define ADMIN 4242

/* --- admins ------------------------------------------------------------------------------- */

static void test_own_user_is_admin(void **state)
{
    int fds[2];
    struct ucred peer;
    socklen_t length = sizeof(peer);
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(getsockopt(fds[0], SOL_SOCKET, SO_PEERCRED, &peer, &length), 0);
    assert_int_equal(peer.pid, getpid());
    assert_true(peer_is_admin(fds[0], &peer, NULL, 0));
    close_fd(fds[0]);
    close_fd(fds[1]);
}

/* Accounts are named, or given by their number. */
static void test_accounts(void **state)
{
    static const struct {
        const char *name;
        uid_t uid;
        bool expected;
    } cases[] = {
        {"root", 0, true},      {"0", 0, true},  {"54321", STRANGER, true},     {"root", 1, false},
        {"54321", 5432, false}, {"0", 1, false}, {"no-such-account", 0, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char first[] = "no-such-account", name[32];
        char *names[] = {first, name};
        const struct ucred peer = {.pid = 1, .uid = cases[i].uid};
        (void)snprintf(name, sizeof(name), "%s", cases[i].name);
        assert_int_equal(peer_is_one_of(&peer, names, 2), cases[i].expected);
        assert_false(peer_is_one_of(&peer, names, 0));
    }
}

/* By uid and primary group alone: there is no descriptor. */
static void test_users_and_primary_groups(void **state)
{
    static const gid_t gids[] = {ADMIN, ADMIN + 1, 7};
    const struct {
        uid_t uid;
        gid_t gid;
        size_t n;
        bool expected;
    } cases[] = {
        {0, STRANGER, 0, true},
        {0, 0, 3, true},
        {geteuid(), STRANGER, 0, true},
        {geteuid(), STRANGER, 3, true},
        {STRANGER, STRANGER, 0, false},
        {STRANGER, STRANGER, 3, false},
        {STRANGER, ADMIN, 0, false},
        {STRANGER, ADMIN, 1, true},
        {STRANGER, ADMIN + 1, 1, false},
        {STRANGER, ADMIN + 1, 2, true},
        {STRANGER, 7, 3, true},
        {STRANGER, 7, 2, false},
        /* Root's group is not the user root, and a gid is not a uid. */
        {STRANGER, 0, 3, false},
        {ADMIN, STRANGER, 3, false},
        {(uid_t)-1, (gid_t)-1, 3, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct ucred peer = {.pid = 1, .uid = cases[i].uid, .gid = cases[i].gid};
        if (peer_is_admin(-1, &peer, gids, cases[i].n) != cases[i].expected)
            fail_msg("case %zu", i);
    }
}

/* --- supplementary groups ----------------------------------------------------------------- */

static const struct ucred stranger = {.pid = 1, .uid = STRANGER, .gid = STRANGER};

/* Connects two sockets, which keep the groups that this process has now. */
static int connect_with(const gid_t *gids, size_t n, int fds[2])
{
    if (setgroups(n, gids) < 0)
        SKIP("only root can choose its groups");
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    return 0;
}

static int is_admin_by_any_of_its_groups(void)
{
    static const gid_t groups[] = {100, ADMIN, 200}, first[] = {100}, last[] = {1, 2, 200};
    static const gid_t others[] = {99, 101, ADMIN - 1, ADMIN + 1};
    int fds[2], r = connect_with(groups, ARRAY_SIZE(groups), fds);
    if (r != 0)
        return r;
    for (size_t i = 0; i < 2; i++) {
        CHECK(peer_is_admin(fds[i], &stranger, groups, ARRAY_SIZE(groups)));
        CHECK(peer_is_admin(fds[i], &stranger, groups + 1, 1));
        CHECK(peer_is_admin(fds[i], &stranger, first, ARRAY_SIZE(first)));
        CHECK(peer_is_admin(fds[i], &stranger, last, ARRAY_SIZE(last)));
        CHECK(!peer_is_admin(fds[i], &stranger, others, ARRAY_SIZE(others)));
        CHECK(!peer_is_admin(fds[i], &stranger, groups, 0));
        CHECK(!peer_is_admin(fds[i], &stranger, NULL, 0));
    }
    return 0;
}

static int is_no_admin_without_groups(void)
{
    static const gid_t admin = ADMIN;
    int fds[2], r = connect_with(NULL, 0, fds);
    if (r != 0)
        return r;
    CHECK(!peer_is_admin(fds[0], &stranger, &admin, 1));
    return 0;
}

/* A later change of the peer's groups has no effect. */
static int counts_from_the_connection_on(void)
{
    static const gid_t admin = ADMIN;
    int before[2], after[2], r = connect_with(&admin, 1, before);
    if (r != 0)
        return r;
    CHECK(connect_with(NULL, 0, after) == 0);
    CHECK(peer_is_admin(before[0], &stranger, &admin, 1));
    CHECK(!peer_is_admin(after[0], &stranger, &admin, 1));
    CHECK(setgroups(1, &admin) == 0);
    CHECK(!peer_is_admin(after[0], &stranger, &admin, 1));
    return 0;
}

/* The kernel alone bounds the number of groups that a user may be in. */
static int may_have_many_groups(size_t n)
{
    static gid_t groups[65536];
    int fds[2];
    for (size_t i = 0; i < n; i++)
        groups[i] = (gid_t)(100000 + i);
    int r = connect_with(groups, n, fds);
    if (r != 0)
        return r;
    CHECK(peer_is_admin(fds[0], &stranger, &groups[0], 1));
    CHECK(peer_is_admin(fds[0], &stranger, &groups[n - 1], 1));
    groups[0] = ADMIN;
    CHECK(!peer_is_admin(fds[0], &stranger, &groups[0], 1));
    return 0;
}

static int may_have_256_groups(void)
{
    return may_have_many_groups(256);
}

static int may_have_257_groups(void)
{
    return may_have_many_groups(257);
}

static int may_have_65536_groups(void)
{
    return may_have_many_groups(65536);
}

/* --- names of groups ---------------------------------------------------------------------- */

static char root_group[] = "root", unknown[] = "no-such-group", empty[] = "", number[] = "0";
static char odd[] = "root:x:0:\nroot";

static void test_groups_that_exist(void **state)
{
    char *const names[] = {unknown, root_group, empty, number, odd, root_group, unknown};
    gid_t gids[8] = {STRANGER, STRANGER, STRANGER};
    (void)state;
    const struct group *group = getgrnam(root_group);
    if (!group) {
        print_message("# there is no group of that name\n");
        skip();
        return;
    }
    gid_t expected = group->gr_gid;
    assert_int_equal(peer_resolve_groups(names, ARRAY_SIZE(names), gids, ARRAY_SIZE(gids)), 2);
    assert_int_equal(gids[0], expected);
    assert_int_equal(gids[1], expected);
    assert_int_equal(gids[2], STRANGER);
}

static void test_no_more_groups_than_there_is_room_for(void **state)
{
    char *const names[] = {root_group, root_group, root_group};
    (void)state;
    for (size_t max = 0; max <= 4; max++) {
        gid_t gids[4] = {STRANGER, STRANGER, STRANGER, STRANGER};
        size_t expected = MIN(max, ARRAY_SIZE(names));
        assert_int_equal(peer_resolve_groups(names, ARRAY_SIZE(names), gids, max), expected);
        for (size_t i = 0; i < ARRAY_SIZE(gids); i++)
            assert_int_equal(gids[i] != STRANGER, i < expected);
    }
}

static void test_no_groups(void **state)
{
    char *const names[] = {unknown, empty};
    gid_t gids[1] = {STRANGER};
    (void)state;
    assert_int_equal(peer_resolve_groups(NULL, 0, gids, 1), 0);
    assert_int_equal(peer_resolve_groups(names, ARRAY_SIZE(names), gids, 1), 0);
    assert_int_equal(gids[0], STRANGER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_own_user_is_admin),
        cmocka_unit_test(test_users_and_primary_groups),
        SCENARIO(is_admin_by_any_of_its_groups),
        SCENARIO(is_no_admin_without_groups),
        SCENARIO(counts_from_the_connection_on),
        SCENARIO(may_have_256_groups),
        SCENARIO(may_have_257_groups),
        SCENARIO(may_have_65536_groups),
        cmocka_unit_test(test_groups_that_exist),
        cmocka_unit_test(test_no_more_groups_than_there_is_room_for),
        cmocka_unit_test(test_no_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
