/* SPDX-License-Identifier: MIT */
/* Tests collecting the files of a job: whatever it has made of its directory, only its own regular
 * files come out, within the bounds. Each scenario runs in a process of its own, as this user and,
 * for root, as a user who is bound by mode bits. */
#include "daemon/jail/collect.h"
#include "daemon/jail/link.h"
#include "proto/util.h"
#include "tests/unit/check.h"
#include "tests/unit/files.h"

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NOBODY 65534
#define MIB ((uint64_t)1 << 20)

/* What was written, record by record. */
struct found {
    struct link_file header[LINK_FILES_MAX + LINK_LEFT_MAX + 1];
    char name[LINK_FILES_MAX + LINK_LEFT_MAX + 1][LINK_NAME_MAX + 1];
    char content[LINK_FILES_MAX + LINK_LEFT_MAX + 1][8]; /* its first bytes */
    size_t count, files;
};

static int read_records(int fd, struct found *found)
{
    memset(found, 0, sizeof(*found));
    off_t at = 0;
    for (;;) {
        struct link_file *header = &found->header[found->count];
        ssize_t n = pread(fd, header, sizeof(*header), at);
        if (n == 0)
            return 0;
        CHECK(n == sizeof(*header) && found->count + 1 < ARRAY_SIZE(found->header));
        at += n;
        CHECK(header->name_length > 0 && header->name_length <= LINK_NAME_MAX);
        CHECK(pread(fd, found->name[found->count], header->name_length, at) == header->name_length);
        at += header->name_length;
        if (!(header->mode & LINK_LEFT_OUT)) {
            CHECK(header->mode <= 0777);
            CHECK(pread(fd, found->content[found->count], MIN(header->size, 8), at) ==
                  (ssize_t)MIN(header->size, 8));
            at += (off_t)header->size;
            found->files++;
        }
        found->count++;
    }
}

/* Collects from the working directory. */
/* No test passes or fails because of the time that it takes. */
#define HOUR_MS 3600000

static int collect_within(unsigned wall_ms, const char *const *patterns, uint64_t max,
                          bool is_own_disk, int expected, struct found *ret)
{
    _cleanup_close_ int cwd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int to = memfd_create("to", MFD_CLOEXEC);
    struct collect what = {cwd, to, patterns, max, is_own_disk, wall_ms};
    size_t descriptors = count_descriptors();
    CHECK_EQUAL(collect_files(&what), expected);
    CHECK_EQUAL(count_descriptors(), descriptors);
    return read_records(to, ret);
}

static int collect(const char *const *patterns, uint64_t max, bool is_own_disk, int expected,
                   struct found *ret)
{
    return collect_within(HOUR_MS, patterns, max, is_own_disk, expected, ret);
}

static const char *everything[] = {"*", NULL};

/* The index of NAME among FOUND; -1: it is not there. */
static int find(const struct found *found, const char *name)
{
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->name[i], name) == 0)
            return (int)i;
    return -1;
}

static bool has(const struct found *found, const char *name, const char *content, unsigned mode)
{
    int i = find(found, name);
    return i >= 0 && found->header[i].mode == mode && found->header[i].size == strlen(content) &&
           memcmp(found->content[i], content, MIN(strlen(content), 8)) == 0;
}

static bool lacks(const struct found *found, const char *name, enum link_left why)
{
    int i = find(found, name);
    return i >= 0 && found->header[i].mode == (LINK_LEFT_OUT | (uint32_t)why);
}

static int make_file(const char *name, const char *text)
{
    _cleanup_close_ int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    return 0;
}

static struct found found; /* large */

/* --- scenarios ------------------------------------------------------------------------------ */

static int plain(void)
{
    const char *names[] = {"a", "d/b", "none", "d/none", "x/y", "*.o", NULL};
    CHECK(make_file("a", "one") == 0 && mkdir("d", 0755) == 0 && make_file("d/b", "two") == 0);
    CHECK(make_file("d/c.o", "") == 0 && make_file("e", "no") == 0 && chmod("d/b", 04750) == 0);
    if (collect(names, MIB, true, 0, &found) != 0)
        return 1;
    CHECK(has(&found, "a", "one", 0644) && has(&found, "d/b", "two", 0750));
    CHECK(has(&found, "d/c.o", "", 0644) && find(&found, "e") < 0);
    CHECK(lacks(&found, "none", LINK_LEFT_MISSING) && lacks(&found, "x/y", LINK_LEFT_MISSING));
    CHECK_EQUAL(found.count, 6);
    return 0;
}

static int links(void)
{
    const char *names[] = {"to-file", "to-dir/passwd", "d/../a", "./a", "/etc/passwd", "..", "",
                           NULL};
    CHECK(make_file("a", "x") == 0 && mkdir("d", 0755) == 0 && make_file("d/f", "x") == 0);
    CHECK(symlink("/etc/passwd", "to-file") == 0 && symlink("/etc", "to-dir") == 0);
    CHECK(symlink("a", "d/inner") == 0 && symlink(".", "loop") == 0 && symlink("..", "up") == 0);
    CHECK(symlink("/proc/self/fd/0", "magic") == 0);
    if (collect(everything, MIB, true, 0, &found) != 0)
        return 1;
    CHECK_EQUAL(found.files, 2);
    CHECK(has(&found, "a", "x", 0644) && has(&found, "d/f", "x", 0644));
    CHECK(lacks(&found, "loop", LINK_LEFT_IRREGULAR) &&
          lacks(&found, "d/inner", LINK_LEFT_IRREGULAR));
    /* Names come from a client, whose request was checked; the jail does not rely on that. */
    names[6] = NULL;
    if (collect(names, MIB, true, 0, &found) != 0)
        return 1;
    CHECK_EQUAL(found.files, 0);
    CHECK(lacks(&found, "to-file", LINK_LEFT_IRREGULAR));
    CHECK(lacks(&found, "to-dir/passwd", LINK_LEFT_MISSING));
    CHECK(lacks(&found, "d/../a", LINK_LEFT_MISSING) && lacks(&found, "./a", LINK_LEFT_MISSING));
    CHECK(lacks(&found, "/etc/passwd", LINK_LEFT_MISSING));
    CHECK(lacks(&found, "..", LINK_LEFT_IRREGULAR));
    return 0;
}

/* Opening one of these would wait for ever, or do something. */
static int irregular(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "sock"};
    _cleanup_close_ int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const char *names[] = {"fifo", "sock", "d", "null", NULL};
    bool has_device = geteuid() == 0 && mknod("null", S_IFCHR | 0666, 0x103) == 0;
    CHECK(mkfifo("fifo", 0666) == 0 && mkdir("d", 0755) == 0);
    CHECK(bind(sock, (const struct sockaddr *)&address, sizeof(address)) == 0);
    for (int i = 0; i < 2; i++) {
        if (collect(i ? everything : names, MIB, true, 0, &found) != 0)
            return 1;
        CHECK_EQUAL(found.files, 0);
        CHECK(lacks(&found, "fifo", LINK_LEFT_IRREGULAR));
        CHECK(lacks(&found, "sock", LINK_LEFT_IRREGULAR));
        CHECK(i || lacks(&found, "null", has_device ? LINK_LEFT_IRREGULAR : LINK_LEFT_MISSING));
    }
    return 0;
}

static int closed(void)
{
    const char *names[] = {"d/e/f", NULL};
    for (int i = 0; i < 2; i++) {
        CHECK(mkdir("d", 0755) == 0 && mkdir("d/e", 0755) == 0 && make_file("d/e/f", "x") == 0);
        CHECK(chmod("d/e/f", 0) == 0 && chmod("d/e", 0) == 0 && chmod("d", 0) == 0);
        if (collect(i ? everything : names, MIB, true, 0, &found) != 0)
            return 1;
        CHECK_EQUAL(found.count, 1);
        CHECK(has(&found, "d/e/f", "x", 0));
        CHECK(chmod("d", 0700) == 0);
        remove_tree("d");
    }
    return 0;
}

/* Without a disk of their own, a link of a file may have been made by a job that cannot read it. */
static int shared(void)
{
    CHECK(make_file("a", "x") == 0 && link("a", "b") == 0 && make_file("c", "y") == 0);
    if (collect(everything, MIB, false, 0, &found) != 0)
        return 1;
    CHECK(lacks(&found, "a", LINK_LEFT_SHARED) && lacks(&found, "b", LINK_LEFT_SHARED));
    CHECK(has(&found, "c", "y", 0644));
    if (collect(everything, MIB, true, 0, &found) != 0)
        return 1;
    CHECK(has(&found, "a", "x", 0644) && has(&found, "b", "x", 0644));
    return 0;
}

static int too_large(void)
{
    CHECK(make_file("small", "x") == 0 && make_file("exact", "") == 0);
    CHECK(truncate("exact", MIB - 1) == 0 && make_file("sparse", "") == 0);
    CHECK(truncate("sparse", (off_t)1 << 40) == 0);
    if (collect(everything, MIB, true, -EFBIG, &found) != 0)
        return 1;
    CHECK_EQUAL(found.files, 2);
    CHECK(lacks(&found, "sparse", LINK_LEFT_LARGE));
    CHECK(found.header[find(&found, "sparse")].size == UINT64_C(1) << 40);
    if (collect(everything, 0, true, -EFBIG, &found) != 0)
        return 1;
    CHECK_EQUAL(found.files, 0);
    return 0;
}

static int too_many(void)
{
    for (int i = 0; i < 2000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%d", i);
        CHECK(make_file(name, name) == 0);
    }
    if (collect(everything, MIB, true, -E2BIG, &found) != 0)
        return 1;
    CHECK_EQUAL(found.files, LINK_FILES_MAX);
    CHECK_EQUAL(found.count, LINK_FILES_MAX + LINK_LEFT_MAX);
    for (size_t i = 0; i < found.count; i++)
        if (!(found.header[i].mode & LINK_LEFT_OUT))
            CHECK(strcmp(found.content[i], found.name[i]) == 0);
    return 0;
}

static int strange_names(void)
{
    static const char *const names[] = {"new\nline", "\xff\xfe", " ", "-", "..a", "*", "\x01"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        CHECK(make_file(names[i], "x") == 0);
    if (collect(everything, MIB, true, 0, &found) != 0)
        return 1;
    CHECK_EQUAL(found.files, ARRAY_SIZE(names));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        CHECK(has(&found, names[i], "x", 0644));
    return 0;
}

static int deep(void)
{
    _cleanup_close_ int top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(make_file("a", "x") == 0);
    for (int i = 0; i < 3000; i++) {
        CHECK(mkdir("d", 0755) == 0 && chdir("d") == 0);
        if (i == 200 || i == 2000)
            CHECK(make_file("f", "y") == 0);
    }
    CHECK(fchdir(top) == 0);
    if (collect(everything, MIB, true, -E2BIG, &found) != 0)
        return 1;
    CHECK(has(&found, "a", "x", 0644) && found.files <= 2);
    return 0;
}

/* One that has no time left looks at no more. */
static int too_slow(void)
{
    CHECK(make_file("a", "x") == 0);
    if (collect_within(0, everything, MIB, true, -ETIMEDOUT, &found) != 0)
        return 1;
    CHECK_EQUAL(found.count, 0);
    return 0;
}

/* Directories that change places with links while they are looked at: nothing from behind the links
 * comes out. The other thread stands for a process that could not be killed. */
static bool stop;

static void *swap(void *argument)
{
    (void)argument;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        (void)renameat2(AT_FDCWD, "d", AT_FDCWD, "link", RENAME_EXCHANGE);
        (void)renameat2(AT_FDCWD, "f", AT_FDCWD, "fifo", RENAME_EXCHANGE);
        (void)!truncate("shrinking", 0);
        (void)!truncate("shrinking", 50000);
    }
    return NULL;
}

static int swapped(void)
{
    const char *names[] = {"d/secret", "f", "shrinking", NULL};
    pthread_t thread;
    CHECK(mkdir("../outside", 0755) == 0 && make_file("../outside/secret", "secret") == 0);
    CHECK(mkdir("d", 0755) == 0 && make_file("d/secret", "public") == 0);
    CHECK(symlink("../outside", "link") == 0 && make_file("f", "x") == 0);
    CHECK(mkfifo("fifo", 0644) == 0 && make_file("shrinking", "") == 0);
    CHECK(pthread_create(&thread, NULL, swap, NULL) == 0);
    for (int i = 0; i < 3000; i++) {
        _cleanup_close_ int cwd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_close_ int to = memfd_create("to", MFD_CLOEXEC);
        struct collect what = {cwd, to, i % 2 ? names : everything, MIB, true, HOUR_MS};
        int r = collect_files(&what);
        CHECK(r == 0 || r == -ENOENT || r == -ENOTDIR || r == -ELOOP);
        if (read_records(to, &found) != 0)
            return 1;
        for (size_t k = 0; k < found.count; k++)
            CHECK(strcmp(found.content[k], "secret") != 0);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}

/* --- running them --------------------------------------------------------------------------- */

static int run(int (*scenario)(void), bool as_nobody)
{
    char top[] = "/tmp/rubricd-collect-XXXXXX";
    if (!mkdtemp(top))
        return 1;
    (void)chmod(top, 0755);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(240);
        (void)umask(022);
        bool is_ready =
            chdir(top) == 0 && mkdir("in", 0755) == 0 &&
            (!as_nobody || (chown(".", NOBODY, NOBODY) == 0 && chown("in", NOBODY, NOBODY) == 0 &&
                            setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
                            setresuid(NOBODY, NOBODY, NOBODY) == 0)) &&
            chdir("in") == 0;
        _exit(is_ready ? scenario() : 1);
    }
    int status = 1;
    (void)waitpid(pid, &status, 0);
    remove_tree(top);
    return status;
}

static void run_both(int (*scenario)(void))
{
    assert_int_equal(run(scenario, false), 0);
    if (geteuid() == 0)
        assert_int_equal(run(scenario, true), 0);
}

#define SCENARIO(name)                    \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        run_both(name);                   \
    }
SCENARIO(plain)
SCENARIO(links)
SCENARIO(irregular)
SCENARIO(closed)
SCENARIO(shared)
SCENARIO(too_large)
SCENARIO(too_many)
SCENARIO(strange_names)
SCENARIO(deep)
SCENARIO(too_slow)
SCENARIO(swapped)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),     cmocka_unit_test(test_links),
        cmocka_unit_test(test_irregular), cmocka_unit_test(test_closed),
        cmocka_unit_test(test_shared),    cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_too_many),  cmocka_unit_test(test_strange_names),
        cmocka_unit_test(test_deep),      cmocka_unit_test(test_too_slow),
        cmocka_unit_test(test_swapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
