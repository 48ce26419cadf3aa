/* SPDX-License-Identifier: MIT */
/* Tests which rights are requested of each version of the kernel's interface, and that a ruleset
 * stops exactly what it does not allow. Newer kernels are also asked as if they were older. */
#include "daemon/jail/landlock.h"
#include "tests/unit/scenario.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/random.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

/* --- the table ---------------------------------------------------------------------------- */

/* Written out from Documentation/userspace-api/landlock.rst, not from a header: version 1 has
 * rights 0 (EXECUTE) to 12 (MAKE_SYM), 2 adds 13 (REFER), 3 adds 14 (TRUNCATE), 4 adds TCP (0 BIND,
 * 1 CONNECT), 5 adds 15 (IOCTL_DEV), 6 adds scopes (0 ABSTRACT_UNIX_SOCKET, 1 SIGNAL). 7 and 8
 * add nothing that a ruleset has, 9 adds 16 (RESOLVE_UNIX). */
static const struct landlock_handled documented[] = {
    {0, 0, 0},      {0x1FFF, 0, 0}, {0x3FFF, 0, 0}, {0x7FFF, 0, 0}, {0x7FFF, 3, 0},
    {0xFFFF, 3, 0}, {0xFFFF, 3, 3}, {0xFFFF, 3, 3}, {0xFFFF, 3, 3}, {0x1FFFF, 3, 3},
};

static void expect_handled(int version, bool files, bool network, struct landlock_handled expected)
{
    struct landlock_handled handled = landlock_handled(version, files, network);
    assert_int_equal(handled.files, files ? expected.files : 0);
    assert_int_equal(handled.tcp, network ? expected.tcp : 0);
    assert_int_equal(handled.scopes, expected.scopes);
}

static void test_handled(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4 * ARRAY_SIZE(documented); i++)
        expect_handled((int)i / 4, i & 1, i & 2, documented[i / 4]);
    /* Nothing of a later version is requested before somebody has reviewed it. */
    expect_handled(10, true, true, documented[9]);
    expect_handled(1000, true, true, documented[9]);
    expect_handled(-1, true, true, documented[0]);
}

static void test_nothing_to_forbid(void **state)
{
    (void)state;
    size_t descriptors = count_descriptors();
    assert_int_equal(landlock_new(0, true, true, 0), -EOPNOTSUPP);
    assert_int_equal(landlock_new(1, false, true, 0), -EOPNOTSUPP);
    assert_int_equal(landlock_new(3, false, true, 0), -EOPNOTSUPP);
    assert_int_equal(landlock_new(5, false, false, 0), -EOPNOTSUPP);
    assert_int_equal(count_descriptors(), descriptors);
}

/* --- a tree ------------------------------------------------------------------------------- */

/* Trees: "r" is readable, "w" is writable, "x" is forbidden; each has a file, a program and a
 * directory. */
static const char *const trees[] = {"r", "w", "x"};

static int setup(void **state)
{
    char *top = strdup("/tmp/test_landlock.XXXXXX");
    assert_non_null(top);
    assert_non_null(mkdtemp(top));
    assert_int_equal(chmod(top, 0755), 0);
    assert_int_equal(chdir(top), 0);
    for (size_t i = 0; i < ARRAY_SIZE(trees); i++) {
        assert_int_equal(mkdir(trees[i], 0755), 0);
        int dir = open(trees[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int file = openat(dir, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
        assert_true(dir >= 0 && write(file, "neither program nor script", 26) == 26);
        assert_int_equal(mkdirat(dir, "dir", 0755), 0);
        close_fd(file);
        close_fd(dir);
    }
    *state = top;
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(chdir("/"), 0);
    remove_tree(*state);
    free(*state);
    return 0;
}

/* Runs SCENARIO for each version that the kernel supports. */
static void for_each_version(int (*scenario)(void *version))
{
    int last = MIN(landlock_version(), (int)ARRAY_SIZE(documented) - 1);
    if (last == 0) {
        print_message("# this kernel has no Landlock\n");
        skip();
    }
    for (int version = 1; version <= last; version++)
        run_scenario(scenario, &version);
}

/* Confines this process to the trees and to the paths in DEVICES. */
static int confine_to_trees(int version, bool files, bool network)
{
    int ruleset = landlock_new(version, files, network, 0);
    CHECK(ruleset >= 0);
    CHECK_EQUAL(fcntl(ruleset, F_GETFD), FD_CLOEXEC);
    if (files) {
        CHECK_EQUAL(landlock_allow_path(ruleset, version, "r", LANDLOCK_READ), 0);
        CHECK_EQUAL(landlock_allow_path(ruleset, version, "w", LANDLOCK_WRITE), 0);
        CHECK_EQUAL(landlock_allow_path(ruleset, version, "/dev/urandom", LANDLOCK_DEVICE), 0);
        CHECK_EQUAL(landlock_allow_path(ruleset, version, "/proc", LANDLOCK_READ), 0);
    }
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK_EQUAL(landlock_enforce(ruleset), 0);
    close_fd(ruleset);
    return 0;
}

static int open_and_close(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0644);
    if (fd >= 0)
        (void)close(fd);
    return fd < 0 ? -1 : 0;
}

/* EACCES: execution is forbidden; ENOEXEC: it is allowed, but the file is no program. */
static int run(const char *path)
{
    char *argv[] = {(char *)(uintptr_t)path, NULL}, *envp[] = {NULL};
    return execve(path, argv, envp);
}

static int bind_name(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = bind(fd, (struct sockaddr *)&address, sizeof(address));
    return r;
}

/* --- files -------------------------------------------------------------------------------- */

static int refuse_writing(const char *tree, int version)
{
    CHECK(chdir(tree) == 0);
    CHECK_ERRNO(open_and_close("file", O_WRONLY), EACCES);
    CHECK_ERRNO(open_and_close("file", O_RDWR), EACCES);
    CHECK_ERRNO(open_and_close("new", O_WRONLY | O_CREAT | O_EXCL), EACCES);
    CHECK_ERRNO(open_and_close(".", O_RDWR | O_TMPFILE), EACCES);
    CHECK_ERRNO(mkdir("new", 0755), EACCES);
    CHECK_ERRNO(rmdir("dir"), EACCES);
    CHECK_ERRNO(unlink("file"), EACCES);
    CHECK_ERRNO(symlink("file", "new"), EACCES);
    CHECK_ERRNO(link("file", "new"), EACCES);
    CHECK_ERRNO(rename("file", "new"), EACCES);
    CHECK_ERRNO(mkfifo("new", 0644), EACCES);
    CHECK_ERRNO(mknod("new", S_IFSOCK | 0644, 0), EACCES);
    CHECK_ERRNO(mknod("new", S_IFREG | 0644, 0), EACCES);
    CHECK_ERRNO(bind_name("new"), EACCES);
    if (version >= 3) /* earlier versions do not check it */
        CHECK_ERRNO(truncate("file", 0), EACCES);
    CHECK(chdir("..") == 0);
    return 0;
}

static int read_only(void *argument)
{
    int version = *(int *)argument;
    if (confine_to_trees(version, true, false) != 0)
        return 1;
    CHECK(open_and_close("r/file", O_RDONLY) == 0);
    CHECK(open_and_close("r", O_RDONLY | O_DIRECTORY) == 0);
    CHECK(open_and_close("r/dir", O_RDONLY | O_DIRECTORY) == 0);
    CHECK_ERRNO(run("r/file"), ENOEXEC);
    return refuse_writing("r", version);
}

static int nothing(void *argument)
{
    struct stat st;
    int version = *(int *)argument;
    if (confine_to_trees(version, true, false) != 0)
        return 1;
    CHECK_ERRNO(open_and_close("x/file", O_RDONLY), EACCES);
    CHECK_ERRNO(open_and_close("x", O_RDONLY | O_DIRECTORY), EACCES);
    CHECK_ERRNO(open_and_close("r/../x/file", O_RDONLY), EACCES);
    CHECK_ERRNO(open_and_close(".", O_RDONLY | O_DIRECTORY), EACCES);
    CHECK_ERRNO(open_and_close("/etc/passwd", O_RDONLY), EACCES);
    CHECK_ERRNO(run("x/file"), EACCES);
    CHECK(stat("x/file", &st) == 0); /* its existence is visible */
    return refuse_writing("x", version);
}

/* Everything that a job does in its directory, but no device nodes. */
static int writable(void *argument)
{
    int version = *(int *)argument;
    if (confine_to_trees(version, true, false) != 0)
        return 1;
    CHECK(chdir("w") == 0);
    CHECK(open_and_close("file", O_RDWR) == 0);
    CHECK(open_and_close("file", O_WRONLY | O_TRUNC) == 0);
    CHECK(truncate("file", 10) == 0);
    CHECK_ERRNO(run("file"), ENOEXEC);
    CHECK(open_and_close("new", O_WRONLY | O_CREAT | O_EXCL) == 0);
    CHECK(mkdir("made", 0755) == 0 && open_and_close("made/new", O_WRONLY | O_CREAT) == 0);
    CHECK(open_and_close("made", O_RDONLY | O_DIRECTORY) == 0);
    CHECK(symlink("new", "symlink") == 0 && mkfifo("fifo", 0644) == 0);
    CHECK(bind_name("socket") == 0);
    CHECK(link("new", "hard") == 0 && rename("new", "renamed") == 0);
    if (version >= 2) {
        CHECK(rename("renamed", "made/renamed") == 0);
        CHECK(link("made/renamed", "dir/link") == 0);
        CHECK(unlink("dir/link") == 0 && unlink("made/renamed") == 0);
    } else {
        CHECK_ERRNO(rename("renamed", "made/renamed"), EXDEV);
        CHECK(unlink("renamed") == 0);
    }
    CHECK_ERRNO(mknod("device", S_IFCHR | 0666, makedev(1, 3)), EACCES);
    CHECK_ERRNO(mknod("device", S_IFBLK | 0666, makedev(7, 0)), EACCES);
    CHECK(unlink("hard") == 0 && unlink("symlink") == 0 && unlink("fifo") == 0);
    CHECK(unlink("socket") == 0 && unlink("made/new") == 0 && rmdir("made") == 0);
    CHECK(truncate("file", 0) == 0);
    /* Neither out of the tree nor into it. */
    CHECK(rename("file", "../r/new") < 0 && (errno == EACCES || errno == EXDEV));
    CHECK(link("file", "../x/new") < 0 && (errno == EACCES || errno == EXDEV));
    CHECK(link("../r/file", "new") < 0 && (errno == EACCES || errno == EXDEV));
    CHECK(rename("../x/dir", "new") < 0 && (errno == EACCES || errno == EXDEV));
    return 0;
}

/* A child is confined like its parent. */
static int descendants(void *argument)
{
    int status, version = *(int *)argument;
    if (confine_to_trees(version, true, false) != 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(refuse_writing("x", version) == 0 && open_and_close("x/file", O_RDONLY) < 0 ? 0 : 1);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    return 0;
}

static int devices(void *argument)
{
    int version = *(int *)argument, entropy = -1;
    char byte;
    if (confine_to_trees(version, true, false) != 0)
        return 1;
    _cleanup_close_ int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1);
    if (version >= 5)
        CHECK_ERRNO(ioctl(fd, RNDGETENTCNT, &entropy), EACCES);
    else
        CHECK(ioctl(fd, RNDGETENTCNT, &entropy) == 0 && entropy >= 0);
    CHECK_ERRNO(open_and_close("/dev/zero", O_RDONLY), EACCES);
    CHECK_ERRNO(open_and_close("/dev", O_RDONLY | O_DIRECTORY), EACCES);
    return 0;
}

/* Rules for a file, for a missing path, and for what cannot have a rule. */
static int single_files(void *argument)
{
    int version = *(int *)argument;
    _cleanup_close_ int ruleset = landlock_new(version, true, false, 0);
    CHECK(ruleset >= 0);
    size_t descriptors = count_descriptors();
    CHECK_EQUAL(landlock_allow_path(ruleset, version, "r/file", LANDLOCK_READ), 0);
    CHECK_EQUAL(landlock_allow_path(ruleset, version, "w/file", LANDLOCK_WRITE), 0);
    CHECK_EQUAL(landlock_allow_path(ruleset, version, "/proc", LANDLOCK_READ), 0);
    CHECK_EQUAL(landlock_allow_path(ruleset, version, "r/missing", LANDLOCK_READ), 0);
    CHECK_EQUAL(landlock_allow_path(ruleset, version, "r/file/below", LANDLOCK_READ), 0);
    CHECK_EQUAL(landlock_allow(ruleset, version, -1, LANDLOCK_READ), -EBADF);
    CHECK_EQUAL(landlock_allow(-1, version, STDERR_FILENO, LANDLOCK_READ), -EBADF);
    CHECK_EQUAL(count_descriptors(), descriptors);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK_EQUAL(landlock_enforce(-1), -EBADF);
    CHECK_EQUAL(landlock_enforce(ruleset), 0);
    CHECK(open_and_close("r/file", O_RDONLY) == 0);
    CHECK_ERRNO(open_and_close("r/file", O_WRONLY), EACCES);
    CHECK_ERRNO(open_and_close("r", O_RDONLY | O_DIRECTORY), EACCES);
    CHECK(open_and_close("w/file", O_RDWR | O_TRUNC) == 0);
    CHECK_ERRNO(unlink("w/file"), EACCES);
    CHECK_ERRNO(open_and_close("w/new", O_WRONLY | O_CREAT), EACCES);
    return 0;
}

/* A ruleset that does not handle files leaves them alone. */
static int files_left_alone(void *argument)
{
    int version = *(int *)argument;
    if (version < 4)
        return 0;
    if (confine_to_trees(version, false, true) != 0)
        return 1;
    CHECK(open_and_close("x/file", O_RDWR) == 0);
    CHECK(mkdir("x/new", 0755) == 0 && rmdir("x/new") == 0);
    return 0;
}

/* --- TCP ---------------------------------------------------------------------------------- */

/* Returns a socket of TYPE bound to a free port of the loopback; -1 if that is refused. */
static int bind_loopback(int type, struct sockaddr_in *ret)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    _cleanup_close_ int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        getsockname(fd, (struct sockaddr *)ret, &length) < 0)
        return -1;
    return TAKE_FD(fd);
}

static int connect_to(const struct sockaddr_in *address)
{
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    return r;
}

static int tcp_with(int version, bool network)
{
    struct sockaddr_in address, other;
    _cleanup_close_ int listener = bind_loopback(SOCK_STREAM, &address);
    if (listener < 0 || listen(listener, 10) < 0 || connect_to(&address) < 0)
        SKIP("there is no loopback to be had");
    if (confine_to_trees(version, true, network) != 0)
        return 1;
    if (network && version >= 4) {
        CHECK_ERRNO(bind_loopback(SOCK_STREAM, &other), EACCES);
        CHECK_ERRNO(connect_to(&address), EACCES);
    } else {
        _cleanup_close_ int bound = bind_loopback(SOCK_STREAM, &other);
        CHECK(bound >= 0 && connect_to(&address) == 0);
    }
    _cleanup_close_ int datagrams = bind_loopback(SOCK_DGRAM, &other);
    CHECK(datagrams >= 0); /* Landlock does not handle these: see filter.c */
    return 0;
}

static int tcp_forbidden(void *argument)
{
    return tcp_with(*(int *)argument, true);
}

static int tcp_left_alone(void *argument)
{
    return tcp_with(*(int *)argument, false);
}

/* --- scopes ------------------------------------------------------------------------------- */

static int listen_abstract(struct sockaddr_un *ret, socklen_t *ret_length)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    *ret_length = sizeof(*ret);
    /* No address: the kernel chooses an abstract one. */
    if (fd < 0 || bind(fd, (struct sockaddr *)ret, sizeof(sa_family_t)) < 0 || listen(fd, 5) < 0 ||
        getsockname(fd, (struct sockaddr *)ret, ret_length) < 0)
        return -1;
    return TAKE_FD(fd);
}

static int connect_abstract(const struct sockaddr_un *address, socklen_t length)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = connect(fd, (const struct sockaddr *)address, length);
    return r;
}

/* Abstract sockets and signals inside the job and to the outside. */
static int check_scopes(bool forbidden, const struct sockaddr_un *outside, socklen_t length)
{
    struct sockaddr_un own;
    socklen_t own_length;
    if (forbidden) {
        CHECK_ERRNO(connect_abstract(outside, length), EPERM);
        CHECK_ERRNO(kill(getppid(), 0), EPERM);
    } else {
        CHECK(connect_abstract(outside, length) == 0 && kill(getppid(), 0) == 0);
    }
    _cleanup_close_ int listener = listen_abstract(&own, &own_length);
    CHECK(listener >= 0 && connect_abstract(&own, own_length) == 0);
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            (void)pause();
    CHECK(pid > 0 && kill(pid, 0) == 0 && kill(pid, SIGKILL) == 0 && kill(getpid(), 0) == 0);
    CHECK(waitpid(pid, NULL, 0) == pid);
    return 0;
}

static int scopes(void *argument)
{
    int version = *(int *)argument;
    struct sockaddr_un outside;
    socklen_t length;
    _cleanup_close_ int listener = listen_abstract(&outside, &length);
    CHECK(listener >= 0);
    if (confine_to_trees(version, true, false) != 0)
        return 1;
    return check_scopes(version >= 6, &outside, length);
}

/* They are forbidden even if nothing else is. */
static int scopes_alone(void *argument)
{
    int version = *(int *)argument;
    struct sockaddr_un outside;
    socklen_t length;
    if (version < 6)
        return 0;
    _cleanup_close_ int listener = listen_abstract(&outside, &length);
    CHECK(listener >= 0);
    if (confine_to_trees(version, false, false) != 0)
        return 1;
    CHECK(open_and_close("x/file", O_RDWR) == 0);
    return check_scopes(true, &outside, length);
}

/* --- privileges --------------------------------------------------------------------------- */

static int enforce_without_right(void *argument)
{
    _cleanup_close_ int ruleset = landlock_new(*(int *)argument, true, false, 0);
    CHECK(ruleset >= 0);
    if (geteuid() == 0)
        CHECK(setresuid(65534, 65534, 65534) == 0);
    CHECK_EQUAL(landlock_enforce(ruleset), -EPERM);
    CHECK(open_and_close("x/file", O_RDONLY) == 0);
    return 0;
}

static void test_version(void **state)
{
    (void)state;
    int version = landlock_version();
    assert_true(version >= 0);
    print_message("# this kernel has version %d of Landlock\n", version);
}

#define FOR_EACH_VERSION(scenario)            \
    static void test_##scenario(void **state) \
    {                                         \
        (void)state;                          \
        for_each_version(scenario);           \
    }

FOR_EACH_VERSION(read_only)
FOR_EACH_VERSION(nothing)
FOR_EACH_VERSION(writable)
FOR_EACH_VERSION(descendants)
FOR_EACH_VERSION(devices)
FOR_EACH_VERSION(single_files)
FOR_EACH_VERSION(files_left_alone)
FOR_EACH_VERSION(tcp_forbidden)
FOR_EACH_VERSION(tcp_left_alone)
FOR_EACH_VERSION(scopes)
FOR_EACH_VERSION(scopes_alone)
FOR_EACH_VERSION(enforce_without_right)

#define IN_TREE(scenario) cmocka_unit_test_setup_teardown(test_##scenario, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_handled),
        cmocka_unit_test(test_nothing_to_forbid),
        IN_TREE(read_only),
        IN_TREE(nothing),
        IN_TREE(writable),
        IN_TREE(descendants),
        IN_TREE(devices),
        IN_TREE(single_files),
        IN_TREE(files_left_alone),
        IN_TREE(tcp_forbidden),
        IN_TREE(tcp_left_alone),
        IN_TREE(scopes),
        IN_TREE(scopes_alone),
        IN_TREE(enforce_without_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
