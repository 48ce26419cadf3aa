/* SPDX-License-Identifier: MIT */
/* Tests which paths lie under the configured roots, by their names and through links. */
#include "daemon/base/roots.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>

static void names_alone_are_compared(void **state)
{
    static const struct {
        const char *root, *path;
        bool contains;
    } cases[] = {
        {"/srv", "/srv", true},        {"/srv", "/srv/a", true},
        {"/srv/", "/srv/a", true},     {"/srv//", "/srv", true},
        {"/srv", "/srv2", false},      {"/srv/a", "/srv", false},
        {"/srv", "/", false},          {"/", "/", true},
        {"/", "/srv/a", true},         {"/srv", "/x/srv", false},
        {"/srv/a/", "/srv/ab", false}, {"", "/srv", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (roots_contain(cases[i].root, cases[i].path) != cases[i].contains)
            fail_msg("%s in %s", cases[i].path, cases[i].root);
}

static void what_views_make_covers(void **state)
{
    static const char *const covers[] = {"/work", "/bench", "/dev/shm"};
    static const char *const free_paths[] = {"/",      "/dev",      "/dev/shmem",
                                             "/works", "/srv/work", "/usr/bin/python3"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(covers); i++) {
        char beneath[64];
        (void)snprintf(beneath, sizeof(beneath), "%s/a/b", covers[i]);
        assert_string_equal(roots_covered(covers[i]), covers[i]);
        assert_string_equal(roots_covered(beneath), covers[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(free_paths); i++)
        assert_null(roots_covered(free_paths[i]));
}

/* --- with files --------------------------------------------------------------------------- */

static int make_top(char top[static 32])
{
    strcpy(top, "/tmp/test_roots.XXXXXX");
    CHECK(mkdtemp(top) && chdir(top) == 0 && chmod(".", 0755) == 0);
    CHECK(mkdir("real", 0755) == 0 && mkdir("real/inner", 0755) == 0);
    CHECK(symlink("real", "link") == 0 && symlink("nowhere", "broken") == 0);
    return 0;
}

/* Links of a root are followed; a root that is not there allows nothing. */
static int roots_are_followed(void)
{
    char top[32], real[64], beneath[64], link[64], broken[64], missing[64];
    CHECK(make_top(top) == 0);
    (void)snprintf(real, sizeof(real), "%s/real", top);
    (void)snprintf(beneath, sizeof(beneath), "%s/real/inner", top);
    (void)snprintf(link, sizeof(link), "%s/link", top);
    (void)snprintf(broken, sizeof(broken), "%s/broken", top);
    (void)snprintf(missing, sizeof(missing), "%s/missing", top);
    const char *const good[] = {missing, broken, link}, *const bad[] = {broken, missing};
    CHECK_EQUAL(roots_allow(&(struct roots){good, 3}, real), 1);
    CHECK_EQUAL(roots_allow(&(struct roots){good, 3}, beneath), 1);
    CHECK_EQUAL(roots_allow(&(struct roots){good, 3}, top), 0);
    CHECK_EQUAL(roots_allow(&(struct roots){good, 2}, real), 0);
    CHECK_EQUAL(roots_allow(&(struct roots){bad, 2}, missing), 0);
    CHECK_EQUAL(roots_allow(&(struct roots){NULL, 0}, real), 0);
    remove_tree(top);
    return 0;
}

static int paths_of_descriptors(void)
{
    char top[32], expected[64];
    CHECK(make_top(top) == 0);
    _cleanup_close_ int fd = open("link/inner", O_PATH | O_CLOEXEC);
    _cleanup_free_ char *path = roots_path_of(fd);
    (void)snprintf(expected, sizeof(expected), "%s/real/inner", top);
    CHECK(path && strcmp(path, expected) == 0);
    errno = 0;
    CHECK(!roots_path_of(-1) && errno == ENOENT);
    remove_tree(top);
    return 0;
}

static int closed_directories_are_found(void)
{
    char top[32], closed[64], beneath[80], open_one[64];
    CHECK(make_top(top) == 0);
    (void)snprintf(closed, sizeof(closed), "%s/real", top);
    (void)snprintf(beneath, sizeof(beneath), "%s/real/inner/x", top);
    (void)snprintf(open_one, sizeof(open_one), "%s/other", top);
    CHECK(mkdir("other", 0755) == 0);
    if (geteuid() == 0)
        CHECK(chown(".", 65534, 65534) == 0 && chown("real", 65534, 65534) == 0 &&
              setresuid(65534, 65534, 65534) == 0);
    CHECK(!roots_closed_to_us(beneath) && !roots_closed_to_us(closed) && !roots_closed_to_us("/"));
    CHECK(chmod(closed, 0600) == 0);
    _cleanup_free_ char *found = roots_closed_to_us(beneath), *itself = roots_closed_to_us(closed);
    CHECK(found && strcmp(found, closed) == 0);
    CHECK(itself && strcmp(itself, closed) == 0);
    CHECK(!roots_closed_to_us(open_one));
    CHECK(chmod(closed, 0700) == 0);
    remove_tree(top);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_alone_are_compared),
        cmocka_unit_test(what_views_make_covers),
        SCENARIO(roots_are_followed),
        SCENARIO(paths_of_descriptors),
        SCENARIO(closed_directories_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
