/* SPDX-License-Identifier: MIT */
/* The layers' names, and which layers go with one that is left out. */
#include "daemon/jail/layers.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_names_round_trip(void **state)
{
    (void)state;
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++) {
        const char *name = layer_name(layer);
        assert_true(strlen(name) > 0);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
        assert_int_equal(layer_from_name(name), layer);
    }
}

static void test_names_that_are_none(void **state)
{
    static const char *const names[] = {
        "", " ", "ENV", "env ", " env", "en", "envx", "net", "mount-namespace", "layer", "\xff",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_int_equal(layer_from_name(names[i]), LAYER_COUNT);
    assert_string_equal(layer_name(LAYER_COUNT), "");
    assert_string_equal(layer_name((enum layer)UINT32_MAX), "");
}

/* The names that replies, the configuration and the documentation use. */
static void test_names(void **state)
{
    static const struct {
        enum layer layer;
        const char *name;
    } names[] = {
        {LAYER_ENV, "env"},
        {LAYER_TEMPDIR, "tempdir"},
        {LAYER_RLIMITS, "rlimits"},
        {LAYER_NO_NEW_PRIVS, "no_new_privs"},
        {LAYER_TREE_KILL, "tree_kill"},
        {LAYER_USER_NAMESPACE, "user_namespace"},
        {LAYER_PID_NAMESPACE, "pid_namespace"},
        {LAYER_MOUNT_NAMESPACE, "mount_namespace"},
        {LAYER_NET_NAMESPACE, "net_namespace"},
        {LAYER_NETWORK, "network"},
        {LAYER_FILESYSTEM, "filesystem"},
        {LAYER_LANDLOCK, "landlock"},
        {LAYER_SECCOMP, "seccomp"},
        {LAYER_CGROUP, "cgroup"},
        {LAYER_OWN_UID, "own_uid"},
    };
    (void)state;
    assert_int_equal(ARRAY_SIZE(names), LAYER_COUNT);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_string_equal(layer_name(names[i].layer), names[i].name);
}

static void test_bits(void **state)
{
    uint32_t all = 0;
    (void)state;
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++) {
        assert_false(layer_in(all, layer));
        all |= LAYER_BIT(layer);
        assert_true(layer_in(all, layer));
        assert_true(layer_in(LAYER_BIT(layer), layer));
        assert_false(layer_in(~LAYER_BIT(layer), layer));
    }
    assert_int_equal(all, LAYERS_ALL);
}

/* --- consistency -------------------------------------------------------------------------- */

#define BIT(name) LAYER_BIT(LAYER_##name)

/* A layer needs at least one of a set of others. */
struct need {
    enum layer layer;
    uint32_t one_of;
};

static const struct need needs[] = {
    {LAYER_PID_NAMESPACE, BIT(USER_NAMESPACE)},
    {LAYER_MOUNT_NAMESPACE, BIT(USER_NAMESPACE)},
    {LAYER_NET_NAMESPACE, BIT(USER_NAMESPACE)},
    {LAYER_LANDLOCK, BIT(NO_NEW_PRIVS) | BIT(USER_NAMESPACE)},
    {LAYER_SECCOMP, BIT(NO_NEW_PRIVS) | BIT(USER_NAMESPACE)},
    {LAYER_MOUNT_NAMESPACE, BIT(FILESYSTEM)},
    {LAYER_FILESYSTEM, BIT(MOUNT_NAMESPACE) | BIT(LANDLOCK)},
    {LAYER_NET_NAMESPACE, BIT(NETWORK)},
    {LAYER_NETWORK, BIT(NET_NAMESPACE) | BIT(SECCOMP)},
    {LAYER_OWN_UID, BIT(MOUNT_NAMESPACE)},
};

/* Returns the largest subset of SET in which every need is met; there is exactly one. */
static uint32_t largest_consistent(uint32_t set)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
            if (!layer_in(set, needs[i].layer) || (set & needs[i].one_of))
                continue;
            set &= ~LAYER_BIT(needs[i].layer);
            changed = true;
        }
    }
    return set;
}

static void test_every_subset(void **state)
{
    (void)state;
    for (uint32_t set = 0; set <= LAYERS_ALL; set++) {
        uint32_t consistent = layers_consistent(set);
        if (consistent & ~set)
            fail_msg("%#x: %#x was added", set, consistent & ~set);
        if (layers_consistent(consistent) != consistent)
            fail_msg("%#x: %#x is not stable", set, consistent);
        if (consistent != largest_consistent(set))
            fail_msg("%#x: %#x, expected %#x", set, consistent, largest_consistent(set));
    }
}

/* Written out by hand, without the table above: what goes with each layer that is left out. */
static void test_one_left_out(void **state)
{
    static const struct {
        enum layer layer;
        uint32_t goes_too;
    } cases[] = {
        {LAYER_ENV, 0},
        {LAYER_TEMPDIR, 0},
        {LAYER_RLIMITS, 0},
        {LAYER_NO_NEW_PRIVS, 0},
        {LAYER_TREE_KILL, 0},
        {LAYER_USER_NAMESPACE,
         BIT(PID_NAMESPACE) | BIT(MOUNT_NAMESPACE) | BIT(NET_NAMESPACE) | BIT(OWN_UID)},
        {LAYER_PID_NAMESPACE, 0},
        {LAYER_MOUNT_NAMESPACE, BIT(OWN_UID)},
        {LAYER_NET_NAMESPACE, 0},
        {LAYER_NETWORK, BIT(NET_NAMESPACE)},
        {LAYER_FILESYSTEM, BIT(MOUNT_NAMESPACE) | BIT(OWN_UID)},
        {LAYER_LANDLOCK, 0},
        {LAYER_SECCOMP, 0},
        {LAYER_CGROUP, 0},
        {LAYER_OWN_UID, 0},
    };
    (void)state;
    assert_int_equal(layers_consistent(LAYERS_ALL), LAYERS_ALL);
    assert_int_equal(layers_consistent(0), 0);
    assert_int_equal(ARRAY_SIZE(cases), LAYER_COUNT);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t left = LAYERS_ALL & ~LAYER_BIT(cases[i].layer);
        assert_int_equal(layers_consistent(left), left & ~cases[i].goes_too);
    }
}

/* A guarantee with two means is lost only with both. */
static void test_two_left_out(void **state)
{
    static const struct {
        uint32_t left_out, goes_too;
    } cases[] = {
        {BIT(MOUNT_NAMESPACE) | BIT(LANDLOCK), BIT(FILESYSTEM) | BIT(OWN_UID)},
        {BIT(NET_NAMESPACE) | BIT(SECCOMP), BIT(NETWORK)},
        {BIT(USER_NAMESPACE) | BIT(LANDLOCK), BIT(OWN_UID) | BIT(PID_NAMESPACE) |
                                                  BIT(MOUNT_NAMESPACE) | BIT(NET_NAMESPACE) |
                                                  BIT(FILESYSTEM)},
        {BIT(USER_NAMESPACE) | BIT(SECCOMP), BIT(OWN_UID) | BIT(PID_NAMESPACE) |
                                                 BIT(MOUNT_NAMESPACE) | BIT(NET_NAMESPACE) |
                                                 BIT(NETWORK)},
        {BIT(USER_NAMESPACE) | BIT(NO_NEW_PRIVS),
         BIT(OWN_UID) | BIT(PID_NAMESPACE) | BIT(MOUNT_NAMESPACE) | BIT(NET_NAMESPACE) |
             BIT(LANDLOCK) | BIT(SECCOMP) | BIT(FILESYSTEM) | BIT(NETWORK)},
        {BIT(MOUNT_NAMESPACE) | BIT(SECCOMP), BIT(OWN_UID)},
        {BIT(NET_NAMESPACE) | BIT(LANDLOCK), 0},
        {BIT(NETWORK) | BIT(FILESYSTEM), BIT(NET_NAMESPACE) | BIT(MOUNT_NAMESPACE) | BIT(OWN_UID)},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t left = LAYERS_ALL & ~cases[i].left_out;
        assert_int_equal(layers_consistent(left), left & ~cases[i].goes_too);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_round_trip),
        cmocka_unit_test(test_names_that_are_none),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_every_subset),
        cmocka_unit_test(test_one_left_out),
        cmocka_unit_test(test_two_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
