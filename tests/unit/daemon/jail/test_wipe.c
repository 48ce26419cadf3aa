/* SPDX-License-Identifier: MIT */
/* Tests removing what a job has left: trees of every shape disappear, and nothing outside of them
 * is touched. Each scenario runs in a process of its own, as this user and, for root, as a user who
 * is bound by mode bits. */
#include "daemon/jail/wipe.h"
#include "proto/util.h"
#include "tests/unit/check.h"
#include "tests/unit/files.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NOBODY 65534
#define DEEP 3000
#define WIDE 20000

/* --- what trees are made of --------------------------------------------------------------- */

static int open_dir(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Makes the directory NAME and opens it. */
static int make_dir(int parent, const char *name)
{
    return mkdirat(parent, name, 0700) < 0 ? -1 : open_dir(parent, name);
}

static bool make_file(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close_fd(fd);
    return good;
}

static bool is_there(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Returns whether the file NAME is still as make_file(dir, NAME, TEXT) made it. */
static bool is_untouched(int dir, const char *name, const char *text)
{
    char data[100];
    struct stat st;
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data));
    return n == (ssize_t)strlen(text) && memcmp(data, text, (size_t)n) == 0 &&
           fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0600;
}

/* --- scenarios ---------------------------------------------------------------------------- */

/* Each scenario gets an empty directory TOP and makes in it the tree "job" to be wiped. */

static int wipe_levels(int top, unsigned levels)
{
    int dir = make_dir(top, "job");
    CHECK(dir >= 0);
    for (unsigned i = 0; i < levels; i++) {
        int next = make_dir(dir, "d");
        CHECK(next >= 0);
        CHECK(i % 100 || make_file(dir, "f", "x"));
        close_fd(dir);
        dir = next;
    }
    close_fd(dir);
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    return 0;
}

static int wipe_deep(int top)
{
    return wipe_levels(top, DEEP);
}

static int wipe_wide(int top)
{
    int dir = make_dir(top, "job");
    CHECK(dir >= 0);
    for (unsigned i = 0; i < WIDE; i++) {
        char name[20];
        (void)snprintf(name, sizeof(name), "%u", i);
        CHECK(make_file(dir, name, ""));
    }
    close_fd(dir);
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    return 0;
}

/* Many directories that contain more directories. */
static int wipe_bushy(int top)
{
    int job = make_dir(top, "job");
    CHECK(job >= 0);
    for (unsigned i = 0; i < 20; i++) {
        char name[20];
        (void)snprintf(name, sizeof(name), "%u", i);
        int dir = make_dir(job, name);
        CHECK(dir >= 0);
        for (unsigned j = 0; j < 20; j++) {
            (void)snprintf(name, sizeof(name), "%u", j);
            int inner = make_dir(dir, name);
            CHECK(inner >= 0 && make_file(inner, "f", "x") && mkdirat(inner, "e", 0700) == 0);
            close_fd(inner);
        }
        close_fd(dir);
    }
    close_fd(job);
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    return 0;
}

/* A few descriptors suffice for any depth. */
static int wipe_with_few_descriptors(int top)
{
    const struct rlimit limit = {count_descriptors() + 4, count_descriptors() + 4};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    return wipe_levels(top, 300);
}

static int wipe_closed_directories(int top)
{
    static const mode_t modes[] = {0, 0100, 0200, 0300, 0400, 0500, 0600, 0077};
    char path[200] = "job";
    CHECK(mkdirat(top, path, 0700) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        strcat(path, "/d");
        int dir = mkdirat(top, path, 0700) < 0 ? -1 : open_dir(top, path);
        CHECK(dir >= 0 && make_file(dir, "f", "x") && mkdirat(dir, "empty", 0) == 0);
        close_fd(dir);
    }
    /* From the inside out, while the path is still accessible. */
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        CHECK(fchmodat(top, path, modes[i], 0) == 0);
        path[strlen(path) - 2] = '\0';
    }
    CHECK(fchmodat(top, "job", 0, 0) == 0);
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    return 0;
}

static int wipe_closed_files(int top)
{
    int job = make_dir(top, "job");
    CHECK(job >= 0 && make_file(job, "closed", "x") && fchmodat(job, "closed", 0, 0) == 0);
    CHECK(make_file(job, "special", "x") && fchmodat(job, "special", 07777, 0) == 0);
    CHECK(mkdirat(job, "sticky", 0700) == 0 && fchmodat(job, "sticky", 07000, 0) == 0);
    CHECK(fchmod(job, 01000) == 0);
    close_fd(job);
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    return 0;
}

/* Files outside the job, and links of every kind to them. */
static int make_links_to_outside(int top, int job, const char *path)
{
    char target[300];
    int outside = make_dir(top, "outside");
    CHECK(outside >= 0 && make_file(outside, "file", "keep") && make_file(top, "beside", "keep"));
    close_fd(outside);
    CHECK(fchmodat(top, "outside", 0755, 0) == 0);
    CHECK(symlinkat("../outside", job, "directory") == 0);
    CHECK(symlinkat("../outside/file", job, "file") == 0);
    CHECK(symlinkat("..", job, "up") == 0);
    CHECK(symlinkat(".", job, "here") == 0);
    CHECK(symlinkat("/", job, "root") == 0);
    CHECK(symlinkat("nowhere", job, "dangling") == 0);
    CHECK(symlinkat("loop", job, "loop") == 0);
    CHECK(symlinkat("/proc/self/fd/0", job, "magic") == 0);
    (void)snprintf(target, sizeof(target), "%s/outside", path);
    CHECK(symlinkat(target, job, "absolute") == 0);
    CHECK(linkat(top, "beside", job, "hard", 0) == 0);
    CHECK(linkat(top, "outside/file", job, "hard2", 0) == 0);
    return 0;
}

static int check_outside(int top)
{
    struct stat st;
    _cleanup_close_ int outside = open_dir(top, "outside");
    CHECK(outside >= 0 && fstat(outside, &st) == 0 && (st.st_mode & 07777) == 0755);
    CHECK(is_untouched(outside, "file", "keep"));
    CHECK(is_untouched(top, "beside", "keep"));
    return 0;
}

static int wipe_links(int top)
{
    char link[40], path[256] = "";
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", top);
    CHECK(readlink(link, path, sizeof(path) - 1) > 0);
    _cleanup_close_ int job = make_dir(top, "job");
    CHECK(job >= 0 && make_links_to_outside(top, job, path) == 0);
    /* Again one level deeper, where directories are moved. */
    _cleanup_close_ int deeper = make_dir(job, "deeper");
    CHECK(deeper >= 0 && symlinkat("../../outside", deeper, "directory") == 0);
    CHECK(symlinkat("../../outside/file", deeper, "file") == 0);
    CHECK(symlinkat(path, deeper, ".wiped-0") == 0);
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(!is_there(top, "job"));
    return check_outside(top);
}

static int wipe_special_files(int top)
{
    _cleanup_close_ int job = make_dir(top, "job"), inner = make_dir(job, "inner");
    const int dirs[] = {job, inner};
    for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
        CHECK(mkfifoat(dirs[i], "fifo", 0600) == 0);
        CHECK(mknodat(dirs[i], "socket", S_IFSOCK | 0600, 0) == 0);
        CHECK(symlinkat("fifo", dirs[i], "link") == 0);
    }
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    return 0;
}

static const char *const odd_names[] = {
    "-rf",
    "--",
    "*",
    "?",
    "~",
    " ",
    "  x ",
    "a\nb",
    "\n",
    "\t",
    "\x01",
    "\x7f",
    "...",
    "..a",
    ".a",
    "a\\b",
    "'",
    "\"",
    "$(id)",
    "`id`",
    "%s%n",
    "\xff\xfe",
    "caf\xc3\xa9",
    "job",
    ".wiped-0",
    ".wiped-1",
    ".wiped-2",
    ".wiped-",
    ".wiped-18446744073709551615",
};

/* Makes a directory in which every odd name is a directory with a file and another directory. */
static int make_odd_directories(int parent)
{
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    for (size_t i = 0; i <= ARRAY_SIZE(odd_names); i++) {
        const char *name = i < ARRAY_SIZE(odd_names) ? odd_names[i] : longest;
        _cleanup_close_ int dir = make_dir(parent, name);
        CHECK(dir >= 0 && make_file(dir, name, "x") && mkdirat(dir, ".wiped-0 ", 0700) == 0);
        _cleanup_close_ int inner = make_dir(dir, "inner");
        CHECK(inner >= 0 && mkdirat(inner, name, 0) == 0);
    }
    return 0;
}

static int wipe_odd_names(int top)
{
    _cleanup_close_ int job = make_dir(top, "job"), inner = make_dir(job, "inner");
    CHECK(inner >= 0 && make_odd_directories(job) == 0 && make_odd_directories(inner) == 0);
    _cleanup_close_ int files = make_dir(job, "files");
    CHECK(files >= 0);
    for (size_t i = 0; i < ARRAY_SIZE(odd_names); i++)
        CHECK(make_file(files, odd_names[i], "x"));
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    return 0;
}

/* The names to which directories are moved are taken, at every level. */
static int wipe_names_that_are_taken(int top)
{
    int job = make_dir(top, "job");
    CHECK(job >= 0);
    for (unsigned i = 0; i < 150; i++) {
        char name[20];
        (void)snprintf(name, sizeof(name), ".wiped-%u", i % 50);
        if (i < 50)
            CHECK(mkdirat(job, name, 0700) == 0);
        int next = make_dir(job, i % 2 ? "d" : ".wiped-60");
        CHECK(next >= 0 && make_file(next, name, "x"));
        close_fd(job);
        job = next;
    }
    close_fd(job);
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    return 0;
}

/* Nothing else could make way for it. */
static int wipe_the_one_name_that_is_taken(int top)
{
    _cleanup_close_ int job = make_dir(top, "job"), taken = make_dir(job, ".wiped-0");
    _cleanup_close_ int inner = make_dir(taken, "d"), last = make_dir(inner, ".wiped-1");
    CHECK(last >= 0 && make_file(last, "f", "x"));
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    return 0;
}

static int wipe_simple_entries(int top)
{
    CHECK(wipe_tree(top, "job") == 0); /* it does not exist */
    CHECK(make_file(top, "job", "x") && wipe_tree(top, "job") == 0);
    CHECK(mkfifoat(top, "job", 0) == 0 && wipe_tree(top, "job") == 0);
    CHECK(mkdirat(top, "job", 0700) == 0 && wipe_tree(top, "job") == 0);
    CHECK(mkdirat(top, "job", 0) == 0 && wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    CHECK(wipe_tree(top, "job") == 0);
    return 0;
}

/* A link in place of the job's directory is removed, and its target stays. */
static int wipe_entry_that_is_a_link(int top)
{
    static const char *const targets[] = {"outside", "outside/file", "nowhere", ".", "job"};
    int outside = make_dir(top, "outside");
    CHECK(outside >= 0 && make_file(outside, "file", "keep") && make_file(top, "beside", "keep"));
    close_fd(outside);
    CHECK(fchmodat(top, "outside", 0755, 0) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        CHECK(symlinkat(targets[i], top, "job") == 0);
        CHECK(wipe_tree(top, "job") == 0);
        CHECK(!is_there(top, "job"));
        CHECK(check_outside(top) == 0);
    }
    return 0;
}

static int wipe_no_more_than_the_entry(int top)
{
    CHECK(mkdirat(top, "job", 0700) == 0 && mkdirat(top, "job-2", 0700) == 0);
    CHECK(make_file(top, "job-3", "keep"));
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(!is_there(top, "job") && is_there(top, "job-2"));
    CHECK(is_untouched(top, "job-3", "keep"));
    return 0;
}

static int wipe_the_contents_only(int top)
{
    _cleanup_close_ int slot = make_dir(top, "slot"), inner = make_dir(slot, "job-7");
    CHECK(inner >= 0 && make_odd_directories(inner) == 0);
    CHECK(make_file(slot, "f", "x") && make_file(top, "beside", "keep"));
    CHECK(wipe_contents(slot) == 0);
    CHECK(is_there(top, "slot") && is_empty(slot));
    CHECK(wipe_contents(slot) == 0); /* again, with nothing to do */
    CHECK(is_there(top, "slot") && is_untouched(top, "beside", "keep"));
    return 0;
}

/* A job can remove permissions from the directory above its own if the same user owns it. That is
 * an error, which opening the directory again repairs. */
static int wipe_in_a_closed_directory(int top)
{
    _cleanup_close_ int slot = make_dir(top, "slot"), job = make_dir(slot, "job");
    CHECK(job >= 0 && make_file(job, "f", "x") && fchmod(slot, 0) == 0);
    int tree = wipe_tree(slot, "job"), contents = wipe_contents(slot);
    CHECK(fchmod(slot, 0700) == 0);
    CHECK(tree == -EACCES || (tree == 0 && is_empty(slot)));
    CHECK(contents == -EACCES || (contents == 0 && is_empty(slot)));
    CHECK(wipe_contents(slot) == 0 && is_empty(slot));
    return 0;
}

/* --- where it cannot be done -------------------------------------------------------------- */

static int wipe_without_permission(int top)
{
    int job = make_dir(top, "job");
    CHECK(job >= 0 && make_file(top, "beside", "keep"));
    close_fd(job);
    if (fchmod(top, 0500) < 0 || mkdirat(top, "probe", 0700) == 0)
        return SKIPPED; /* root is not bound by modes */
    CHECK(wipe_tree(top, "job") == -EACCES);
    CHECK(wipe_tree(top, "beside") < 0);
    CHECK(wipe_tree(top, "none") == 0);
    CHECK(is_there(top, "job") && is_untouched(top, "beside", "keep"));
    CHECK(fchmod(top, 0700) == 0 && wipe_tree(top, "job") == 0);
    return 0;
}

/* Sets or clears the immutable flag of NAME, as chattr +i and -i do. */
static bool set_immutable(int dir, const char *name, bool immutable)
{
    int flags = 0;
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return false;
    flags = immutable ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

/* NAME beneath job cannot be removed: wiping fails but terminates, and succeeds once it can. */
static int wipe_immutable(int top, const char *name)
{
    int job = make_dir(top, "job");
    CHECK(job >= 0 && make_file(job, "a", "x") && make_file(job, "z", "x"));
    _cleanup_close_ int deeper = make_dir(job, "deeper");
    CHECK(deeper >= 0 && make_file(deeper, "file", "x") && mkdirat(deeper, "directory", 0700) == 0);
    close_fd(job);
    _cleanup_close_ int held = openat(top, name, O_RDONLY | O_CLOEXEC);
    char link[40];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", held);
    if (!set_immutable(top, name, true))
        return SKIPPED;
    int r = wipe_tree(top, "job");
    int again = wipe_tree(top, "job");
    int flags = 0;
    CHECK(ioctl(held, FS_IOC_GETFLAGS, &flags) == 0);
    flags &= ~FS_IMMUTABLE_FL;
    CHECK(ioctl(held, FS_IOC_SETFLAGS, &flags) == 0);
    CHECK(r < 0 && again < 0 && is_there(top, "job"));
    CHECK(wipe_tree(top, "job") == 0);
    CHECK(is_empty(top));
    return 0;
}

static int wipe_immutable_file(int top)
{
    return wipe_immutable(top, "job/a");
}

static int wipe_immutable_file_below(int top)
{
    return wipe_immutable(top, "job/deeper/file");
}

static int wipe_immutable_directory(int top)
{
    return wipe_immutable(top, "job/deeper");
}

static int wipe_immutable_directory_below(int top)
{
    return wipe_immutable(top, "job/deeper/directory");
}

static int wipe_immutable_top(int top)
{
    return wipe_immutable(top, "job");
}

/* A directory in which something is mounted cannot be removed, whoever asks. */
static int wipe_mount_point(int top)
{
    char link[40], path[100] = "";
    int job = make_dir(top, "job");
    CHECK(job >= 0 && make_file(job, "a", "x") && mkdirat(job, "deeper", 0700) == 0);
    _cleanup_close_ int deeper = open_dir(job, "deeper");
    close_fd(job);
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", deeper);
    CHECK(readlink(link, path, sizeof(path) - 1) > 0); /* the descriptor is of the old namespace */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || mount(path, path, NULL, MS_BIND, NULL) < 0)
        return SKIPPED;
    path[strlen(path) - strlen("/job/deeper")] = '\0';
    _cleanup_close_ int again = open_dir(AT_FDCWD, path);
    CHECK(wipe_tree(again, "job") == -EBUSY);
    _cleanup_close_ int left = open_dir(again, "job");
    CHECK(left >= 0 && wipe_contents(left) == -EBUSY);
    CHECK(!is_there(left, "a") && is_there(left, "deeper")); /* all else is gone */
    return 0;
}

/* --- running them ------------------------------------------------------------------------- */

enum user {
    SELF,
    ANOTHER,  /* a user other than root; takes root */
    ORDINARY, /* SELF, or ANOTHER where SELF is root */
};

struct scenario {
    int (*run)(int top);
    enum user user;
};

/* Without this, /proc/self belongs to root after a change of user. */
static bool become_nobody(void)
{
    return setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0 &&
           prctl(PR_SET_DUMPABLE, 1) == 0;
}

static int run_here(const struct scenario *scenario, bool as_nobody, const char *path)
{
    CHECK(!as_nobody || become_nobody());
    _cleanup_close_ int top = open_dir(AT_FDCWD, path);
    CHECK(top >= 0);
    size_t limit = count_descriptors();
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    int r = scenario->run(top);
    if (r == 0)
        CHECK(count_descriptors() <= limit);
    return r;
}

static int run_in_child(const struct scenario *scenario, bool as_nobody, const char *path)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(run_here(scenario, as_nobody, path));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Removes what a scenario has left, without the tested code. */
static void remove_rest(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/bin/rm", "rm", "-rf", "--", path, NULL);
        _exit(127);
    }
    (void)waitpid(pid, NULL, 0);
}

static void test_scenario(void **state)
{
    const struct scenario *scenario = *state;
    char path[] = "/tmp/test_wipe.XXXXXX";
    bool as_nobody = geteuid() == 0 && scenario->user != SELF;
    if (scenario->user == ANOTHER && !as_nobody) {
        print_message("# only root can become another user\n");
        skip();
    }
    assert_non_null(mkdtemp(path));
    if (as_nobody)
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    int r = run_in_child(scenario, as_nobody, path);
    remove_rest(path);
    if (r == SKIPPED) {
        print_message("# this user or this file system cannot provoke it\n");
        skip();
    }
    assert_int_equal(r, 0);
}

/* clang-format off */
#define AS(name, suffix, user) \
    {#name suffix, test_scenario, NULL, NULL, &(struct scenario){name, user}}
/* clang-format on */
#define AS_BOTH(name) AS(name, "", SELF), AS(name, "_as_another_user", ANOTHER)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AS(wipe_deep, "", SELF),
        AS(wipe_wide, "", SELF),
        AS(wipe_bushy, "", SELF),
        AS(wipe_with_few_descriptors, "", SELF),
        AS_BOTH(wipe_closed_directories),
        AS_BOTH(wipe_closed_files),
        AS_BOTH(wipe_links),
        AS_BOTH(wipe_special_files),
        AS_BOTH(wipe_odd_names),
        AS_BOTH(wipe_names_that_are_taken),
        AS_BOTH(wipe_the_one_name_that_is_taken),
        AS_BOTH(wipe_simple_entries),
        AS_BOTH(wipe_entry_that_is_a_link),
        AS_BOTH(wipe_no_more_than_the_entry),
        AS_BOTH(wipe_the_contents_only),
        AS_BOTH(wipe_in_a_closed_directory),
        AS(wipe_without_permission, "", ORDINARY),
        AS(wipe_immutable_file, "", SELF),
        AS(wipe_immutable_file_below, "", SELF),
        AS(wipe_immutable_directory, "", SELF),
        AS(wipe_immutable_directory_below, "", SELF),
        AS(wipe_immutable_top, "", SELF),
        AS(wipe_mount_point, "", ORDINARY),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
