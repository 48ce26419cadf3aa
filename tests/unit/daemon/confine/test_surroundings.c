/* SPDX-License-Identifier: MIT */
/* Tests that a refusal is explained by its cause, with trees of files that look like a host, a
 * container of each engine, and a kernel whose settings forbid namespaces. */
#include "daemon/confine/surroundings.h"
#include "tests/unit/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define STATUS "/proc/self/status"
#define MOUNTS "/proc/self/mountinfo"
#define APPARMOR "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
#define NAMESPACES "/proc/sys/user/max_user_namespaces"
#define FILTERED "Name:\trubricd\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"
#define COVERED                                               \
    "30 29 0:28 / /proc rw,nosuid shared:12 - proc proc rw\n" \
    "41 30 0:31 / /proc/acpi ro,relatime - tmpfs tmpfs ro\n"
#define BINFMT                                                         \
    "30 29 0:28 / /proc rw,nosuid shared:12 - proc proc rw\n"          \
    "31 30 0:29 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n" \
    "33 29 0:44 / /mnt/proc/x rw - tmpfs tmpfs rw\n"

struct world {
    char root[64];
    char text[256];
};

static int set_up(void **state)
{
    static struct world world;
    (void)snprintf(world.root, sizeof(world.root), "/tmp/test_surroundings.XXXXXX");
    assert_non_null(mkdtemp(world.root));
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    const struct world *world = *state;
    remove_tree(world->root);
    return 0;
}

/* Writes TEXT into PATH below the root, with the folders that it takes. */
static void put(const struct world *world, const char *path, const char *text)
{
    char whole[256];
    size_t root = strlen(world->root);
    (void)snprintf(whole, sizeof(whole), "%s%s", world->root, path);
    for (char *slash = whole + root + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static const char *users(struct world *world, const char *container, const char *kubernetes)
{
    struct surroundings around;
    surroundings_read(&around, world->root, container, kubernetes);
    surroundings_explain_users(&around, world->text, sizeof(world->text));
    return world->text;
}

static const char *proc(struct world *world, const char *container, const char *kubernetes)
{
    struct surroundings around;
    surroundings_read(&around, world->root, container, kubernetes);
    surroundings_explain_proc(&around, world->text, sizeof(world->text));
    return world->text;
}

static void test_no_sign_at_all(void **state)
{
    assert_string_equal(users(*state, NULL, NULL),
                        "see user.max_user_namespaces and "
                        "kernel.apparmor_restrict_unprivileged_userns, and start outside of a "
                        "chroot");
    assert_string_equal(proc(*state, NULL, NULL), "");
    assert_string_equal(proc(*state, "", ""), "");
}

static void test_settings_of_the_kernel(void **state)
{
    put(*state, APPARMOR, "0\n");
    put(*state, NAMESPACES, "96365\n");
    assert_non_null(strstr(users(*state, NULL, NULL), "outside of a chroot"));
    put(*state, APPARMOR, "1\n");
    assert_non_null(strstr(users(*state, NULL, NULL), "load the AppArmor profile"));
    put(*state, NAMESPACES, "0\n");
    assert_string_equal(users(*state, NULL, NULL), "user.max_user_namespaces is 0 here");
    put(*state, NAMESPACES, "many\n");
    assert_non_null(strstr(users(*state, NULL, NULL), "load the AppArmor profile"));
}

/* The service's own unit has a filter as well: a filter without a container explains nothing. */
static void test_filter_is_blamed_in_containers_alone(void **state)
{
    put(*state, STATUS, FILTERED);
    assert_non_null(strstr(users(*state, NULL, NULL), "outside of a chroot"));
    assert_non_null(strstr(users(*state, "oci", NULL), "the seccomp profile of the container"));
    put(*state, STATUS, "Name:\tx\nSeccomp:\t0\n");
    assert_non_null(strstr(users(*state, "oci", NULL), "outside of a chroot"));
}

static void test_each_engine_is_told_by_its_sign(void **state)
{
    put(*state, STATUS, FILTERED);
    put(*state, MOUNTS, COVERED);
    assert_non_null(strstr(users(*state, "lxc", NULL), "lxc.seccomp.profile"));
    assert_non_null(strstr(proc(*state, "lxc-libvirt", NULL),
                           "lxc.include = /usr/share/lxc/config/nesting.conf"));
    assert_non_null(strstr(users(*state, NULL, "10.0.0.1"), "seccompProfile"));
    assert_non_null(strstr(proc(*state, NULL, "10.0.0.1"), "procMount"));
    put(*state, "/.dockerenv", "");
    assert_non_null(strstr(users(*state, NULL, NULL), "--security-opt seccomp=FILE"));
    assert_non_null(strstr(proc(*state, NULL, NULL), "systempaths=unconfined"));
    assert_non_null(strstr(proc(*state, NULL, "10.0.0.1"), "procMount"));
    put(*state, "/run/.containerenv", "");
    assert_non_null(strstr(users(*state, NULL, NULL), "podman's own allows it"));
    assert_non_null(strstr(proc(*state, NULL, NULL), "unmask=ALL"));
}

static void test_only_what_covers_proc_counts(void **state)
{
    put(*state, MOUNTS, BINFMT);
    assert_string_equal(proc(*state, "docker", NULL), "");
    put(*state, MOUNTS, COVERED);
    assert_string_equal(proc(*state, NULL, NULL), "; something is mounted over parts of /proc");
    put(*state, MOUNTS, "1 2 3\n\n");
    assert_string_equal(proc(*state, NULL, NULL), "");
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TREE(test_no_sign_at_all),
        WITH_TREE(test_settings_of_the_kernel),
        WITH_TREE(test_filter_is_blamed_in_containers_alone),
        WITH_TREE(test_each_engine_is_told_by_its_sign),
        WITH_TREE(test_only_what_covers_proc_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
