/* SPDX-License-Identifier: MIT */
/* Tests the cache of rubrics: that what has its name is complete, what is in use stays, and what
 * was used longest ago goes. */
#include "client/fleet/benchcache.h"
#include "tests/unit/files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY (UINT64_C(1) << 40)

struct fixture {
    char path[64];
    struct benchcache cache;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char below[80];
    strcpy(f->path, "/tmp/rubricd-cache-XXXXXX");
    if (!mkdtemp(f->path))
        return -1;
    (void)snprintf(below, sizeof(below), "%s/some/where", f->path);
    *state = f;
    (void)umask(077);
    return benchcache_open(below, MANY, &f->cache, NULL);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    benchcache_close(&f->cache);
    remove_tree(f->path);
    free(f);
    return 0;
}

/* A digest that begins with C. */
static const char *digest(char c, char ret[RUBRICDIR_DIGEST_SIZE])
{
    memset(ret, '0', RUBRICDIR_DIGEST_SIZE - 1);
    ret[0] = c;
    ret[RUBRICDIR_DIGEST_SIZE - 1] = '\0';
    return ret;
}

static void write_file(const struct benchcache_writer *writer, const char *name, bool is_executable,
                       const char *text)
{
    char own[RUBRICDIR_NAME_MAX + 1];
    (void)snprintf(own, sizeof(own), "%s", name);
    const struct manifest_file file = {own, "", strlen(text), is_executable};
    assert_int_equal(benchcache_write(writer, &file, text, strlen(text)), 0);
}

static void store(struct fixture *f, char c, const char *text)
{
    struct benchcache_writer writer = BENCHCACHE_WRITER_NULL;
    char hex[RUBRICDIR_DIGEST_SIZE];
    assert_int_equal(benchcache_begin(&f->cache, &writer), 0);
    write_file(&writer, "rubric.py", false, text);
    write_file(&writer, "a/b/run", true, "");
    assert_int_equal(benchcache_end(&f->cache, &writer, digest(c, hex), "c"), 0);
    assert_int_equal(writer.fd, -1);
}

static int use(const struct fixture *f, char c, char root[PATH_MAX])
{
    char hex[RUBRICDIR_DIGEST_SIZE];
    return benchcache_use(&f->cache, digest(c, hex), "c", root);
}

static mode_t mode_of(const char *root, const char *name)
{
    char path[2 * PATH_MAX];
    struct stat st;
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

/* The daemon, which has another account, can read it whatever the umask is. */
static void test_store_and_use(void **state)
{
    struct fixture *f = *state;
    char root[PATH_MAX];
    size_t descriptors = count_descriptors();
    assert_int_equal(use(f, 'a', root), -ENOENT);
    store(f, 'a', "text");
    int fd = use(f, 'a', root);
    assert_true(fd >= 0);
    assert_int_equal(mode_of(root, ""), 0755);
    assert_int_equal(mode_of(root, "c"), 0755);
    assert_int_equal(mode_of(root, "c/a/b"), 0755);
    assert_int_equal(mode_of(root, "c/rubric.py"), 0644);
    assert_int_equal(mode_of(root, "c/a/b/run"), 0755);
    (void)close(fd);
    assert_int_equal(benchcache_use(&f->cache, strrchr(root, '/') + 1, "d", root), -ENOENT);
    store(f, 'a', "text"); /* somebody else has it already */
    assert_int_equal(count_entries(f->cache.path), 3);
    assert_int_equal(count_descriptors(), descriptors);
}

static void test_abandon_and_left_overs(void **state)
{
    struct fixture *f = *state;
    struct benchcache_writer writer = BENCHCACHE_WRITER_NULL, mine = BENCHCACHE_WRITER_NULL;
    struct benchcache other = BENCHCACHE_NULL;
    char path[PATH_MAX];
    assert_int_equal(benchcache_begin(&f->cache, &writer), 0);
    write_file(&writer, "rubric.py", false, "half");
    benchcache_abandon(&f->cache, &writer);
    assert_int_equal(count_entries(f->cache.path), 2);
    /* What nobody writes any more goes when a cache is opened; what somebody writes stays. */
    assert_int_equal(benchcache_begin(&f->cache, &mine), 0);
    (void)snprintf(path, sizeof(path), "%s/.new-0", f->cache.path);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/.old-0", f->cache.path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(benchcache_open(f->cache.path, MANY, &other, NULL), 0);
    assert_int_equal(count_entries(f->cache.path), 3);
    benchcache_close(&other);
    benchcache_abandon(&f->cache, &mine);
}

static void set_used(const struct fixture *f, char c, time_t when)
{
    char hex[RUBRICDIR_DIGEST_SIZE];
    const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    assert_int_equal(utimensat(f->cache.fd, digest(c, hex), times, 0), 0);
}

static bool has(const struct fixture *f, char c)
{
    char hex[RUBRICDIR_DIGEST_SIZE];
    return faccessat(f->cache.fd, digest(c, hex), F_OK, 0) == 0;
}

static void test_bound(void **state)
{
    struct fixture *f = *state;
    char root[PATH_MAX];
    store(f, 'a', "a");
    store(f, 'b', "b");
    store(f, 'c', "c");
    set_used(f, 'a', 100);
    set_used(f, 'b', 200);
    set_used(f, 'c', 300);
    int fd = use(f, 'a', root); /* now it was used last, and is in use */
    set_used(f, 'a', 100);
    f->cache.max_bytes = 100000; /* two or three of them */
    store(f, 'd', "d");
    assert_true(has(f, 'a')); /* in use */
    assert_false(has(f, 'b'));
    assert_true(has(f, 'd'));
    (void)close(fd);
    f->cache.max_bytes = 1;
    store(f, 'e', "e");
    assert_false(has(f, 'a'));
    assert_false(has(f, 'c'));
    assert_true(has(f, 'e')); /* what has just come does not go at once */
    assert_int_equal(count_entries(f->cache.path), 3);
}

static void test_the_oldest_goes(void **state)
{
    static const char orders[][2] = {{'b', 'c'}, {'c', 'b'}};
    struct fixture *f = *state;
    char hex[RUBRICDIR_DIGEST_SIZE], root[PATH_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        f->cache.max_bytes = MANY;
        store(f, 'b', "b");
        store(f, 'c', "c");
        set_used(f, orders[i][0], 100);
        set_used(f, orders[i][1], 200);
        f->cache.max_bytes = 100000; /* two of them */
        store(f, 'd', "d");
        assert_false(has(f, orders[i][0]));
        assert_true(has(f, orders[i][1]));
        benchcache_drop(&f->cache, digest('d', hex), use(f, 'd', root));
    }
}

/* What is in use keeps its files when it is dropped, and a fresh copy has its place. */
static void test_drop(void **state)
{
    struct fixture *f = *state;
    char root[PATH_MAX], hex[RUBRICDIR_DIGEST_SIZE];
    size_t descriptors = count_descriptors();
    store(f, 'a', "a");
    int first = use(f, 'a', root), second = use(f, 'a', root), third = use(f, 'a', root);
    benchcache_drop(&f->cache, digest('a', hex), first);
    assert_false(has(f, 'a'));
    assert_int_equal(faccessat(second, "c/rubric.py", F_OK, 0), 0);
    store(f, 'a', "a");
    benchcache_drop(&f->cache, digest('a', hex), second);
    assert_true(has(f, 'a')); /* it is not the one that SECOND is open on */
    assert_int_equal(faccessat(third, "c/rubric.py", F_OK, 0), 0);
    benchcache_drop(&f->cache, digest('a', hex), third);
    store(f, 'b', "b"); /* which removes what nobody uses any more */
    assert_int_equal(count_entries(f->cache.path), 4);
    benchcache_drop(&f->cache, digest('a', hex), use(f, 'a', root));
    assert_false(has(f, 'a'));
    assert_int_equal(count_entries(f->cache.path), 3);
    assert_int_equal(count_descriptors(), descriptors);
}

/* A copy without its rubric is none: a fresh one takes its place, even while it is in use. */
static void test_a_damaged_copy_is_replaced(void **state)
{
    struct fixture *f = *state;
    char root[PATH_MAX];
    store(f, 'a', "a");
    int fd = use(f, 'a', root);
    assert_int_equal(unlinkat(fd, "c/rubric.py", 0), 0);
    assert_int_equal(use(f, 'a', root), -ENOENT);
    store(f, 'a', "a");
    int fresh = use(f, 'a', root);
    assert_true(fresh >= 0);
    assert_int_equal(faccessat(fd, "c/a/b/run", F_OK, 0), 0); /* its users keep the rest */
    (void)close(fd);
    (void)close(fresh);
}

/* A cache that somebody has removed is made again, and what has a digest's name makes way. */
static void test_the_cache_is_made_again(void **state)
{
    struct fixture *f = *state;
    char root[PATH_MAX], hex[RUBRICDIR_DIGEST_SIZE];
    size_t descriptors = count_descriptors();
    store(f, 'a', "a");
    remove_tree(f->cache.path);
    assert_int_equal(symlinkat("/tmp", f->cache.fd, "link"), -1); /* it is removed */
    store(f, 'a', "a");
    int fd = use(f, 'a', root);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(symlinkat(f->path, f->cache.fd, digest('b', hex)), 0);
    store(f, 'b', "b");
    assert_int_equal(symlinkat("/nowhere", f->cache.fd, digest('c', hex)), 0);
    store(f, 'c', "c");
    fd = use(f, 'b', root);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(count_entries(f->path), 3); /* nothing was written through the link */
    assert_int_equal(count_descriptors(), descriptors);
}

/* A file in the place of a directory, or a link, is nothing that is written through. */
static void test_writes_stay_inside(void **state)
{
    struct fixture *f = *state;
    struct benchcache_writer writer = BENCHCACHE_WRITER_NULL;
    assert_int_equal(benchcache_begin(&f->cache, &writer), 0);
    write_file(&writer, "a", false, "");
    const struct manifest_file below = {(char[]){"a/b"}, "", 0, false};
    assert_int_equal(benchcache_write(&writer, &below, "", 0), -ENOTDIR);
    const struct manifest_file again = {(char[]){"a"}, "", 0, false};
    assert_int_equal(benchcache_write(&writer, &again, "", 0), -EEXIST);
    assert_int_equal(symlinkat("/tmp", writer.fd, "link"), 0);
    const struct manifest_file through = {(char[]){"link/x"}, "", 0, false};
    assert_int_equal(benchcache_write(&writer, &through, "", 0), -ENOTDIR);
    benchcache_abandon(&f->cache, &writer);
}

static void test_names_and_paths(void **state)
{
    static const char *const good[] = {"a", "exact-match", "A.b_c", "0"};
    static const char *const bad[] = {"", ".", "..", ".a", "a/b", "/a", "-a", "a b", "a\n"};
    struct benchcache cache = BENCHCACHE_NULL;
    struct fault fault = FAULT_NULL;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_true(benchcache_is_task_class(good[i]));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(benchcache_is_task_class(bad[i]));
    assert_int_equal(benchcache_open("relative", MANY, &cache, &fault), -EINVAL);
    assert_string_equal(fault.text, "relative: expected an absolute path");
    assert_true(benchcache_open("/dev/null/x", MANY, &cache, &fault) < 0);
    assert_string_equal(fault.text, "/dev/null/x: Not a directory");
}

/* Whoever may write to the cache chooses what jobs run. */
static void test_others_may_not_write(void **state)
{
    struct fixture *f = *state;
    struct benchcache other = BENCHCACHE_NULL;
    struct fault fault = FAULT_NULL;
    static const mode_t modes[] = {0775, 0757, 01777};
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        assert_int_equal(fchmod(f->cache.fd, modes[i]), 0);
        assert_int_equal(benchcache_open(f->cache.path, MANY, &other, &fault), -EPERM);
        assert_non_null(strstr(fault.text, "/some/where: others may write to it (mode "));
        assert_int_equal(other.fd, -1);
    }
    assert_int_equal(fchmod(f->cache.fd, 0755), 0);
    assert_int_equal(benchcache_open(f->cache.path, MANY, &other, &fault), 0);
    benchcache_close(&other);
    if (geteuid() != 0)
        return; /* only root gives directories away */
    assert_int_equal(fchown(f->cache.fd, 65534, -1), 0);
    assert_int_equal(benchcache_open(f->cache.path, MANY, &other, &fault), -EPERM);
    assert_non_null(strstr(fault.text, "/some/where: it belongs to user 65534, who could"));
}

static void test_a_closed_directory_is_named(void **state)
{
    const struct fixture *f = *state;
    char at[PATH_MAX], some[80];
    (void)snprintf(some, sizeof(some), "%s/some", f->path);
    const char *const closed[] = {f->cache.path, some, f->path};
    for (size_t i = 0; i < ARRAY_SIZE(closed); i++) {
        assert_true(benchcache_is_closed(&f->cache, at));
        assert_string_equal(at, closed[i]);
        assert_int_equal(chmod(at, 0711), 0);
    }
    assert_false(benchcache_is_closed(&f->cache, at));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_store_and_use),
        TEST(test_abandon_and_left_overs),
        TEST(test_bound),
        TEST(test_the_oldest_goes),
        TEST(test_drop),
        TEST(test_a_damaged_copy_is_replaced),
        TEST(test_the_cache_is_made_again),
        TEST(test_writes_stay_inside),
        TEST(test_names_and_paths),
        TEST(test_others_may_not_write),
        TEST(test_a_closed_directory_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
