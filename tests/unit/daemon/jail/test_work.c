/* SPDX-License-Identifier: MIT */
/* Tests where jobs may write: limits are exact to the page and the inode, nothing of a job is left
 * whatever it has done, and files are unpacked nowhere else. The tmpfs is tested in namespaces of
 * the test's own. */
#include "daemon/jail/link.h"
#include "daemon/jail/work.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#define PAGE 4096
#define MIB (UINT64_C(1) << 20)

/* --- a jail's surroundings ---------------------------------------------------------------- */

struct fixture {
    char top[64]; /* a directory of the host */
    struct view view;
    struct work work;
};

static int write_text(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* As a jail does: one identity of its own, with all rights over its namespaces. */
static int enter_namespaces(void)
{
    char uids[48], gids[48];
    (void)snprintf(uids, sizeof(uids), "%d %u 1", VIEW_UID, geteuid());
    (void)snprintf(gids, sizeof(gids), "%d %u 1", VIEW_GID, getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        SKIP("no user namespace can be had: %s", strerror(errno));
    CHECK(write_text("/proc/self/setgroups", "deny") == 0);
    CHECK(write_text("/proc/self/uid_map", uids) == 0);
    CHECK(write_text("/proc/self/gid_map", gids) == 0);
    return 0;
}

/* Enters a view with a tmpfs. */
static int enter(struct fixture *f)
{
    char *const nothing[] = {NULL};
    const struct view_options options = {
        .mountpoint = f->top, .readable = nothing, .uid = VIEW_UID};
    const char *step = "";
    int r = enter_namespaces();
    if (r != 0)
        return r;
    r = view_enter(&f->view, &options, &step);
    if (r < 0)
        SKIP("no view can be had: %s: %s", step, strerror(-r));
    CHECK_EQUAL(work_open_tmpfs(&f->work, &f->view, false, f->top), 0);
    CHECK_EQUAL(view_seal(&f->view), 0);
    return 0;
}

static const char *const places[WORK_SEEN] = {"/work", "/tmp", "/dev/shm"};

/* Returns 0 if everything is as before the first job. */
static int is_fresh(const struct work *work)
{
    static const mode_t modes[WORK_DIRECTORIES] = {0700, 01777, 01777, 01777, 01777, 0700};
    struct statfs fs;
    struct stat st;
    for (size_t i = 0; i < WORK_DIRECTORIES; i++) {
        int dir = work->directories[i];
        CHECK(fstat(dir, &st) == 0); /* before reading it, which changes the times */
        CHECK_EQUAL(st.st_mode & 07777, modes[i]);
        CHECK_EQUAL(st.st_mtim.tv_sec, 0);
        CHECK_EQUAL(st.st_mtim.tv_nsec, 0);
        CHECK_EQUAL(st.st_atim.tv_sec, 0);
        CHECK_EQUAL(st.st_atim.tv_nsec, 0);
        CHECK(is_empty(dir));
        CHECK_EQUAL(st.st_nlink, 2);
        CHECK(flistxattr(dir, NULL, 0) <= 0);
        int flags = 0;
        CHECK(ioctl(dir, FS_IOC_GETFLAGS, &flags) < 0 || flags == 0);
    }
    CHECK(fstatfs(work->top, &fs) == 0);
    CHECK_EQUAL(fs.f_bfree, fs.f_blocks);
    CHECK_EQUAL(fs.f_files - fs.f_ffree, WORK_DIRECTORIES + 1);
    CHECK(!work_is_full(work));
    for (size_t i = 0; i < WORK_SEEN; i++)
        CHECK(is_empty(work->apart_directories[i]));
    CHECK(fstatfs(work->apart, &fs) == 0);
    CHECK_EQUAL(fs.f_bfree, fs.f_blocks);
    CHECK_EQUAL(fs.f_files - fs.f_ffree, WORK_SEEN + 1);
    return 0;
}

static int begin(struct fixture *f, uint64_t disk_bytes)
{
    static uint64_t job_no;
    int cwd = -1;
    CHECK_EQUAL(work_begin(&f->work, ++job_no, disk_bytes, &cwd), 0);
    CHECK_EQUAL(cwd, f->work.directories[WORK_CWD]);
    return fchdir(cwd);
}

/* Runs JOB without rights over the namespaces. */
static int as_a_job(int (*job)(void))
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(syscall(SYS_capset, &header, none) == 0 ? job() : 1);
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* --- bounds ------------------------------------------------------------------------------- */

/* Returns how many bytes fit into PATH. */
static uint64_t fill(const char *path)
{
    static char page[PAGE];
    uint64_t written = 0;
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    memset(page, 'x', sizeof(page));
    for (;;) {
        ssize_t n = fd < 0 ? -1 : write(fd, page, sizeof(page));
        if (n < 0)
            return errno == ENOSPC ? written : 0;
        written += (uint64_t)n;
    }
}

static int bytes_are_bounded(void *argument)
{
    static const uint64_t sizes[] = {MIB, 64 << 10, 5 * MIB, 5 * MIB + 1, PAGE, 3 * MIB - 1, MIB};
    struct fixture *f = argument;
    int r = enter(f);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(sizes); i++) {
        uint64_t whole = (sizes[i] + PAGE - 1) / PAGE * PAGE;
        CHECK(begin(f, sizes[i]) == 0);
        CHECK(!work_is_full(&f->work));
        CHECK_EQUAL(fill("a"), whole);
        CHECK(work_is_full(&f->work));
        CHECK_EQUAL(truncate("a", (off_t)whole - PAGE), 0);
        CHECK(!work_is_full(&f->work));
        /* One limit for all three. */
        CHECK_EQUAL(fill("/tmp/b"), PAGE);
        CHECK_EQUAL(fill("/dev/shm/c"), 0);
        CHECK(work_is_full(&f->work));
        CHECK_EQUAL(work_empty(&f->work), 0);
        r = is_fresh(&f->work);
    }
    return r;
}

static uint64_t make_files(const char *directory)
{
    char name[64];
    for (uint64_t i = 0;; i++) {
        (void)snprintf(name, sizeof(name), "%s/%llu", directory, (unsigned long long)i);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
            return errno == ENOSPC ? i : UINT64_MAX;
        close_fd(fd);
    }
}

/* One inode per page, but not fewer than 256 and not more than 65536. */
static int inodes_are_bounded(void *argument)
{
    static const struct {
        uint64_t size, inodes;
    } cases[] = {{MIB, 256},      {64 << 10, 256},     {MIB + PAGE, 257},
                 {4 * MIB, 1024}, {1024 * MIB, 65536}, {PAGE, 256}};
    struct fixture *f = argument;
    int r = enter(f);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(cases); i++) {
        CHECK(begin(f, cases[i].size) == 0);
        CHECK_EQUAL(make_files("/work"), cases[i].inodes);
        CHECK(work_is_full(&f->work));
        CHECK_EQUAL(make_files("/tmp"), 0);
        CHECK(unlink("7") == 0 && !work_is_full(&f->work));
        CHECK_EQUAL(make_files("/dev/shm"), 1);
        CHECK_ERRNO(mkdir("d", 0700), ENOSPC);
        CHECK_ERRNO(link("1", "l"), ENOSPC);
        CHECK_ERRNO(symlink("1", "l"), ENOSPC);
        CHECK_EQUAL(work_empty(&f->work), 0);
        r = is_fresh(&f->work);
    }
    return r;
}

/* Only the view's own directories are writable. */
static int only_places_are_writable(void *argument)
{
    static const char *const others[] = {"/x",     "/usr/x",   "/etc/x",
                                         "/dev/x", "/bench/x", "/.work/x"};
    struct fixture *f = argument;
    int r = enter(f);
    if (r != 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        CHECK(open(others[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 &&
              (errno == EROFS || errno == ENOENT));
    for (size_t i = 0; i < WORK_SEEN; i++) {
        struct stat place, directory;
        struct statfs fs;
        CHECK(stat(places[i], &place) == 0 && fstat(f->work.directories[i], &directory) == 0);
        CHECK(place.st_dev == directory.st_dev && place.st_ino == directory.st_ino);
        CHECK(statfs(places[i], &fs) == 0);
        CHECK((fs.f_flags & (ST_NOSUID | ST_NODEV)) == (ST_NOSUID | ST_NODEV));
    }
    return is_fresh(&f->work);
}

/* If the host's /tmp is shown, no part of the tmpfs is attached there. */
static int no_tmp_of_its_own(void *argument)
{
    struct fixture *f = argument;
    char *const nothing[] = {NULL};
    const struct view_options options = {
        .mountpoint = f->top, .readable = nothing, .uid = VIEW_UID};
    const char *step = "";
    int cwd, r = enter_namespaces();
    if (r != 0)
        return r;
    if (view_enter(&f->view, &options, &step) < 0)
        SKIP("no view can be had");
    CHECK_EQUAL(work_open_tmpfs(&f->work, &f->view, true, f->top), 0);
    CHECK_EQUAL(view_seal(&f->view), 0);
    CHECK_EQUAL(f->work.directories[WORK_TMP], -1);
    CHECK_EQUAL(work_begin(&f->work, 1, MIB, &cwd), 0);
    CHECK(open("/tmp/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 && errno == EROFS);
    CHECK(fill("/work/a") == MIB && work_is_full(&f->work));
    CHECK_EQUAL(work_empty(&f->work), 0);
    CHECK(is_empty(f->work.directories[WORK_CWD]) && is_empty(f->work.directories[WORK_SHM]));
    CHECK(!work_is_full(&f->work));
    return 0;
}

/* --- what jobs leave ---------------------------------------------------------------------- */

static int make_deep(unsigned levels)
{
    for (unsigned i = 0; i < levels; i++)
        CHECK(mkdir("d", 0700) == 0 && chdir("d") == 0);
    CHECK(close(creat("bottom", 0600)) == 0);
    return 0;
}

static int make_odd_names(void)
{
    char longest[NAME_MAX + 1];
    memset(longest, 'n', NAME_MAX);
    longest[NAME_MAX] = '\0';
    const char *const names[] = {longest, "\n",       "-rf",      "\xff\xfe", " ",
                                 "...",   ".wiped-0", ".wiped-1", "*"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        CHECK(mkdir(names[i], i % 2 ? 0 : 0700) == 0);
    CHECK(close(creat(".wiped-2", 0)) == 0);
    return 0;
}

/* Everything but deep trees, in the working directory. */
static int make_things(void)
{
    CHECK(mkfifo("fifo", 0) == 0 && mknod("socket", S_IFSOCK | 0600, 0) == 0);
    CHECK(symlink("/", "to-root") == 0 && symlink("..", "up") == 0 && symlink("loop", "loop") == 0);
    CHECK(symlink("/proc/self/root", "magic") == 0);
    CHECK(close(creat("file", 0400)) == 0 && link("file", "hard") == 0);
    CHECK(mkdir("closed", 0700) == 0 && mkdir("closed/inner", 0700) == 0);
    CHECK(close(creat("closed/inner/file", 0)) == 0 && close(creat("closed/file", 0)) == 0);
    CHECK(chmod("closed/inner", 0) == 0 && chmod("closed", 0) == 0);
    CHECK(mkdir("sticky", 0700) == 0 && chmod("sticky", 07000) == 0);
    int fd = open("sealed", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "x", 1) == 1 && fallocate(fd, 0, 0, 3 * PAGE) == 0);
    void *mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(mapped != MAP_FAILED && unlink("sealed") == 0); /* exists until this process ends */
    close_fd(fd);
    return make_odd_names();
}

static int spoil_top(void)
{
    static const struct timespec times[2] = {{1234567890, 5}, {987654321, 7}};
    /* Only newer kernels support these on a tmpfs. */
    CHECK(setxattr(".", "user.note", "to the next job", 15, 0) == 0 || errno == ENOTSUP);
    CHECK(setxattr(".", "user.other", "", 0, 0) == 0 || errno == ENOTSUP);
    CHECK(utimensat(AT_FDCWD, ".", times, 0) == 0);
    _cleanup_close_ int top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int flags = FS_NODUMP_FL;
    CHECK(ioctl(top, FS_IOC_SETFLAGS, &flags) == 0 || errno == ENOTTY || errno == EPERM);
    return 0;
}

static int hostile_job(void)
{
    for (size_t i = 0; i < WORK_SEEN; i++) {
        CHECK(chdir(places[i]) == 0);
        if (make_things() != 0 || spoil_top() != 0 || make_deep(1000) != 0)
            return 1;
        CHECK(chmod(places[i], i == 0 ? 0 : 06000) == 0);
    }
    return 0;
}

static int hostile_trees_go_away(void *argument)
{
    struct fixture *f = argument;
    int r = enter(f);
    size_t descriptors = r == 0 ? count_descriptors() : 0;
    for (unsigned i = 0; r == 0 && i < 2; i++) {
        CHECK(begin(f, 32 * MIB) == 0);
        r = as_a_job(hostile_job);
        CHECK(r == 0 && !is_empty(f->work.directories[WORK_SHM]));
        CHECK_EQUAL(work_empty(&f->work), 0);
        r = is_fresh(&f->work);
    }
    CHECK(r != 0 || count_descriptors() == descriptors);
    return r;
}

/* What a file without a name takes is not free while anything holds the file. */
static int held_files_are_noticed(void *argument)
{
    struct fixture *f = argument;
    int r = enter(f);
    if (r != 0)
        return r;
    CHECK(begin(f, MIB) == 0);
    int fd = open("held", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && unlink("held") == 0);
    CHECK_EQUAL(work_empty(&f->work), -EBUSY);
    CHECK(fallocate(fd, 0, 0, PAGE) == 0);
    CHECK_EQUAL(work_empty(&f->work), -EBUSY);
    close_fd(fd);
    CHECK_EQUAL(work_empty(&f->work), 0);
    return is_fresh(&f->work);
}

static bool touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    close_fd(fd);
    return fd >= 0;
}

static int twin(struct fixture *f, bool is_apart)
{
    int cwd = -1;
    CHECK(unshare(CLONE_NEWNS) == 0);
    CHECK_EQUAL(work_enter_twin(&f->work, is_apart), 0);
    CHECK_EQUAL(work_join(&f->work, 1, &cwd), 0);
    CHECK(fchdir(cwd) == 0 && access("/tmp/of-jail", F_OK) < 0);
    CHECK((access("/work/of-jail", F_OK) == 0) == !is_apart);
    CHECK((access("of-candidate", F_OK) == 0) == is_apart);
    CHECK(touch("here") && touch("/tmp/of-twin") && touch("/dev/shm/of-twin"));
    return 0;
}

/* A twin shares the working directory and nothing else, and the jail empties all of it. */
static int a_twin_has_its_own(void *argument)
{
    struct fixture *f = argument;
    int r = enter(f), status = -1;
    if (r != 0)
        return r;
    /* A second one is as good as the first, and one that is apart after one that is not. */
    for (unsigned i = 0; r == 0 && i < 4; i++) {
        bool is_apart = i >= 2;
        int cwd = -1;
        CHECK(begin(f, MIB) == 0 && touch("/tmp/of-jail") && touch("/work/of-jail"));
        CHECK_EQUAL(work_prepare_twin(&f->work, &f->view, is_apart), 0);
        if (is_apart)
            CHECK_EQUAL(work_begin_candidate(&f->work, 1, MIB, &cwd), 0);
        if (is_apart)
            close_fd(openat(cwd, "of-candidate", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        pid_t pid = fork();
        if (pid == 0)
            _exit(twin(f, is_apart));
        work_forget_twin(&f->work);
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        CHECK((access("/work/here", F_OK) == 0) == !is_apart);
        CHECK(access("/tmp/of-twin", F_OK) < 0 && access("/dev/shm/of-twin", F_OK) < 0);
        const struct work *work = &f->work;
        const int tmp =
            is_apart ? work->apart_directories[WORK_TMP] : work->directories[WORK_TWIN_TMP];
        const int shm =
            is_apart ? work->apart_directories[WORK_SHM] : work->directories[WORK_TWIN_SHM];
        CHECK(!is_empty(tmp) && !is_empty(shm));
        CHECK_EQUAL(work_empty(&f->work), 0);
        r = is_fresh(&f->work);
    }
    return r;
}

/* Not even attributes, which use no inode, are left. */
static int spoiling_job(void)
{
    for (size_t i = 0; i < WORK_SEEN; i++)
        if (chdir(places[i]) != 0 || spoil_top() != 0 || chmod(places[i], 07070) != 0)
            return 1;
    return 0;
}

static int idle_job(void)
{
    return 0;
}

static int top_directories_are_reset(void *argument)
{
    struct fixture *f = argument;
    int r = enter(f);
    if (r != 0)
        return r;
    CHECK(begin(f, MIB) == 0 && as_a_job(spoiling_job) == 0);
    CHECK_EQUAL(work_empty(&f->work), 0);
    r = is_fresh(&f->work);
    if (r == 0 && (begin(f, MIB) != 0 || as_a_job(idle_job) != 0 || work_empty(&f->work) != 0))
        return 1;
    return r || is_fresh(&f->work);
}

/* Between the two programs of a pair, while the directories stay in use. */
static int cleared_is_as_fresh(void *argument)
{
    struct fixture *f = argument;
    int r = enter(f);
    if (r != 0)
        return r;
    CHECK(begin(f, 32 * MIB) == 0 && as_a_job(hostile_job) == 0);
    CHECK_EQUAL(work_clear(&f->work), 0);
    return is_fresh(&f->work);
}

static int many_names_job(void)
{
    char name[220];
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "user.%0200u", i);
        if (setxattr("/tmp", name, "", 0, 0) < 0)
            return SKIPPED;
    }
    return 0;
}

/* More attributes than fit cause an error, so that a new jail replaces this one. */
static int too_many_attributes(void *argument)
{
    struct fixture *f = argument;
    int r = enter(f);
    if (r != 0)
        return r;
    CHECK(begin(f, 16 * MIB) == 0);
    if (as_a_job(many_names_job) != 0)
        SKIP("this kernel has no room for them");
    CHECK_EQUAL(work_empty(&f->work), -ERANGE);
    return 0;
}

/* --- files -------------------------------------------------------------------------------- */

static int new_records(void)
{
    return memfd_create("records", MFD_CLOEXEC);
}

/* Adds a record that claims SIZE and has N bytes of CONTENT. */
static void add_record(int fd, const char *name, unsigned mode, uint64_t size, const char *content,
                       size_t n)
{
    struct link_file header = {(uint32_t)strlen(name), mode, size};
    (void)!write(fd, &header, sizeof(header));
    (void)!write(fd, name, header.name_length);
    (void)!write(fd, content, n);
}

static void add_file(int fd, const char *name, const char *text)
{
    add_record(fd, name, 0644, strlen(text), text, strlen(text));
}

/* Unpacks the added records and closes them. */
static int unpack(int cwd, int records)
{
    (void)lseek(records, 0, SEEK_SET);
    int r = work_unpack(cwd, records, -1);
    (void)close(records);
    return r;
}

static int holds(const char *path, const char *text)
{
    char data[100];
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data));
    if (n != (ssize_t)strlen(text) || memcmp(data, text, (size_t)n) != 0) {
        (void)fprintf(stderr, "%s does not hold \"%s\"\n", path, text);
        return 1;
    }
    return 0;
}

/* Unpacks into "cwd" of the fixture's directory, next to "outside/secret". */
static int in_directory(const struct fixture *f, int *ret_cwd)
{
    CHECK(chdir(f->top) == 0 && mkdir("cwd", 0700) == 0 && mkdir("outside", 0700) == 0);
    int fd = open("outside/secret", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "secret", 6) == 6);
    close_fd(fd);
    (void)umask(022);
    *ret_cwd = open("cwd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(*ret_cwd >= 0);
    return 0;
}

/* Nothing was written outside the job's directory. */
static int outside_is_untouched(void)
{
    _cleanup_close_ int outside = open("outside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(outside >= 0 && unlinkat(outside, "secret", 0) == 0 && is_empty(outside));
    return 0;
}

static int mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int)(st.st_mode & 07777) : -1;
}

static int unpack_files(void *argument)
{
    static char large[3 << 20];
    int cwd, records = new_records();
    struct stat st;
    if (in_directory(argument, &cwd) != 0)
        return 1;
    memset(large, 'z', sizeof(large));
    add_record(records, "plain", 0644, 4, "text", 4);
    add_record(records, "a/b/c d", 0755, 3, "x\0y", 3);
    add_record(records, "a/empty", 0, 0, "", 0);
    add_record(records, "large", 0600, sizeof(large), large, sizeof(large));
    add_record(records, "a/b/set-id", 06777, 1, "i", 1);
    add_record(records, "...", 0666, 1, ".", 1);
    add_record(records, "\xc3\xa9/..x", 0400, 1, "u", 1);
    size_t descriptors = count_descriptors();
    CHECK_EQUAL(unpack(cwd, records), 0);
    CHECK_EQUAL(count_descriptors(), descriptors - 1);
    CHECK(holds("cwd/plain", "text") == 0 && holds("cwd/...", ".") == 0);
    CHECK(holds("cwd/\xc3\xa9/..x", "u") == 0);
    CHECK(stat("cwd/large", &st) == 0 && st.st_size == sizeof(large));
    CHECK(stat("cwd/a/b/c d", &st) == 0 && st.st_size == 3);
    CHECK_EQUAL(mode_of("cwd/plain"), 0644);
    CHECK_EQUAL(mode_of("cwd/a"), 0755);
    CHECK_EQUAL(mode_of("cwd/a/b/c d"), 0755);
    CHECK_EQUAL(mode_of("cwd/a/empty"), 0);
    CHECK_EQUAL(mode_of("cwd/a/b/set-id"), 0777); /* no set-id */
    CHECK_EQUAL(mode_of("cwd/..."), 0666);        /* independent of the umask */
    CHECK_EQUAL(unpack(cwd, new_records()), 0);   /* none is valid */
    return outside_is_untouched();
}

/* Cut off anywhere but between two records. */
static int unpack_truncated(void *argument)
{
    int cwd, records = new_records();
    if (in_directory(argument, &cwd) != 0)
        return 1;
    add_file(records, "a", "12345");
    off_t first = lseek(records, 0, SEEK_CUR);
    add_file(records, "dir/b", "6");
    off_t all = lseek(records, 0, SEEK_CUR);
    CHECK(first > 0 && all > first);
    for (off_t n = all; n >= 0; n--) {
        int copy = fcntl(records, F_DUPFD_CLOEXEC, 0);
        CHECK(ftruncate(records, n) == 0);
        CHECK_EQUAL(unpack(cwd, copy), n == all || n == first || n == 0 ? 0 : -EPROTO);
        (void)unlinkat(cwd, "a", 0);
        (void)unlinkat(cwd, "dir/b", 0);
        (void)unlinkat(cwd, "dir", AT_REMOVEDIR);
        CHECK(is_empty(cwd));
    }
    close_fd(records);
    return outside_is_untouched();
}

static int unpack_lies(void *argument)
{
    static const struct {
        uint64_t says;
        size_t has;
    } sizes[] = {{5, 4}, {1, 0}, {UINT64_MAX, 4}, {INT64_MAX, 4}, {UINT64_C(1) << 32, 4}, {3, 4}};
    static const uint32_t lengths[] = {0, PATH_MAX, PATH_MAX + 1, 1u << 31, UINT32_MAX};
    static char name[PATH_MAX + 1];
    int cwd;
    memset(name, 'n', sizeof(name)); /* too long, but complete */
    if (in_directory(argument, &cwd) != 0)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        int records = new_records();
        add_record(records, "a", 0644, sizes[i].says, "text", sizes[i].has);
        CHECK_EQUAL(unpack(cwd, records), -EPROTO);
        CHECK(unlinkat(cwd, "a", 0) == 0 && is_empty(cwd));
    }
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        int records = new_records();
        struct link_file header = {lengths[i], 0644, 0};
        CHECK(write(records, &header, sizeof(header)) == sizeof(header));
        CHECK(write(records, name, sizeof(name)) == sizeof(name));
        CHECK_EQUAL(unpack(cwd, records), -EPROTO);
        CHECK(is_empty(cwd));
    }
    return outside_is_untouched();
}

/* The longest possible name. */
static int unpack_long_names(void *argument)
{
    char name[PATH_MAX];
    int cwd, records = new_records();
    if (in_directory(argument, &cwd) != 0)
        return 1;
    for (size_t i = 0; i < sizeof(name) - 1; i++)
        name[i] = i % 200 == 199 ? '/' : 'n';
    name[sizeof(name) - 1] = '\0';
    add_file(records, name, "deep");
    CHECK_EQUAL(unpack(cwd, records), 0);
    _cleanup_close_ int file = openat(cwd, name, O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0);
    records = new_records();
    memset(name, 'n', NAME_MAX + 1);
    name[NAME_MAX + 1] = '\0';
    add_file(records, name, "");
    CHECK_EQUAL(unpack(cwd, records), -ENAMETOOLONG);
    return outside_is_untouched();
}

static int unpack_twice(void *argument)
{
    static const struct {
        const char *first, *second;
        int expected;
    } cases[] = {
        {"a", "a", -EEXIST},   {"d/a", "d/a", -EEXIST},  {"a", "a/b", -ENOTDIR},
        {"a/b", "a", -EEXIST}, {"a", "a/b/c", -ENOTDIR},
    };
    int cwd;
    if (in_directory(argument, &cwd) != 0)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char dir[16], path[64];
        int records = new_records();
        (void)snprintf(dir, sizeof(dir), "cwd/%zu", i);
        CHECK(mkdir(dir, 0700) == 0);
        _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        add_file(records, cases[i].first, "first");
        add_file(records, cases[i].second, "second");
        CHECK_EQUAL(unpack(fd, records), cases[i].expected);
        (void)snprintf(path, sizeof(path), "%s/%s", dir, cases[i].first);
        CHECK(holds(path, "first") == 0);
    }
    return outside_is_untouched();
}

/* The daemon refuses such names; a sender that bypasses it gains nothing. */
static int unpack_names_that_lead_out(void *argument)
{
    static const char *const names[] = {
        "../outside/new", "..",     "../new",  "a/../../outside/new",
        "a/..",           ".",      "./a",     "a/./b",
        "a//b",           "a/",     "/",       "//",
        "/outside/new",   "a/../b", "b/../..", "../cwd/new",
    };
    const struct fixture *f = argument;
    char absolute[100];
    int cwd, records;
    if (in_directory(f, &cwd) != 0)
        return 1;
    (void)snprintf(absolute, sizeof(absolute), "%s/outside/new", f->top);
    for (size_t i = 0; i <= ARRAY_SIZE(names); i++) {
        const char *name = i < ARRAY_SIZE(names) ? names[i] : absolute;
        records = new_records();
        add_file(records, name, "text");
        int r = unpack(cwd, records);
        if (r != -EPROTO) {
            (void)fprintf(stderr, "%s: %d\n", name, r);
            return 1;
        }
    }
    CHECK(access("new", F_OK) < 0);
    return outside_is_untouched();
}

/* In case a link ever exists in the directory before a job's files do. */
static int unpack_through_links(void *argument)
{
    static const char *const names[] = {"to-dir/new", "to-dir/sub/new", "to-dir/secret",
                                        "to-file",    "to-new",         "to-up/outside/new",
                                        "to-self/new"};
    int cwd;
    if (in_directory(argument, &cwd) != 0)
        return 1;
    CHECK(symlinkat("../outside", cwd, "to-dir") == 0 && symlinkat("..", cwd, "to-up") == 0);
    CHECK(symlinkat("../outside/secret", cwd, "to-file") == 0);
    CHECK(symlinkat("../outside/new", cwd, "to-new") == 0 && symlinkat(".", cwd, "to-self") == 0);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        int records = new_records();
        add_file(records, names[i], "text");
        if (unpack(cwd, records) >= 0) {
            (void)fprintf(stderr, "%s was written\n", names[i]);
            return 1;
        }
    }
    CHECK(holds("outside/secret", "secret") == 0);
    return outside_is_untouched();
}

/* The limit applies to files given to a job as to files that it makes. */
static int unpack_too_much(void *argument)
{
    static char large[2 << 20];
    struct fixture *f = argument;
    int records, r = enter(f);
    if (r != 0)
        return r;
    int cwd = f->work.directories[WORK_CWD];
    for (unsigned i = 0; i < 2; i++) {
        CHECK(begin(f, MIB) == 0);
        records = new_records();
        add_record(records, "fits", 0600, MIB - PAGE, large, MIB - PAGE);
        add_record(records, "d/does-not", 0600, 2 * PAGE, large, 2 * PAGE);
        CHECK_EQUAL(unpack(cwd, records), -ENOSPC);
        CHECK(work_is_full(&f->work));
        CHECK_EQUAL(work_empty(&f->work), 0);
        r = r || is_fresh(&f->work);

        records = new_records();
        for (unsigned n = 0; n < 300; n++) {
            char name[20];
            (void)snprintf(name, sizeof(name), "%u", n);
            add_record(records, name, 0600, 0, "", 0);
        }
        CHECK(begin(f, MIB) == 0);
        CHECK_EQUAL(unpack(cwd, records), -ENOSPC);
        CHECK_EQUAL(work_empty(&f->work), 0);
        r = r || is_fresh(&f->work);
    }
    CHECK(begin(f, MIB) == 0);
    records = new_records();
    add_record(records, "all", 0600, MIB, large, MIB);
    CHECK_EQUAL(unpack(cwd, records), 0);
    CHECK(work_is_full(&f->work));
    return r;
}

/* --- without a view ----------------------------------------------------------------------- */

/* Opens "slot", whatever is there, and runs two jobs. */
static int use_slot(struct work *work, unsigned levels)
{
    int cwd;
    *work = (struct work)WORK_NULL;
    CHECK_EQUAL(work_open_directory(work, "slot"), 0);
    CHECK(is_empty(work->top) && !work->is_tmpfs);
    CHECK_EQUAL(mode_of("slot"), 0700);
    for (uint64_t job_no = 1; job_no <= 2; job_no++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "slot/job-%d", (int)job_no);
        CHECK_EQUAL(work_begin(work, job_no, PAGE, &cwd), 0);
        CHECK_EQUAL(mode_of(name), 0700);
        CHECK(fchdir(cwd) == 0 && make_things() == 0 && fchdir(cwd) == 0 && make_deep(levels) == 0);
        CHECK(chdir("/") == 0 && !work_is_full(work)); /* not known here */
        CHECK_EQUAL(work_empty(work), 0);
        CHECK(is_empty(work->top) && work->job == -1);
        CHECK(fchdir(work->top) == 0 && chdir("..") == 0);
    }
    work->top = close_fd(work->top);
    return 0;
}

/* As a user who is bound by mode bits, like the daemon's. */
static int step_down(const struct fixture *f)
{
    if (geteuid() == 0)
        CHECK(chown(f->top, 65534, 65534) == 0 && setresgid(65534, 65534, 65534) == 0 &&
              setresuid(65534, 65534, 65534) == 0);
    CHECK(chdir(f->top) == 0);
    return 0;
}

static int slot_is_used(void *argument)
{
    struct work work;
    if (step_down(argument) != 0)
        return 1;
    size_t descriptors = count_descriptors();
    for (unsigned i = 0; i < 2; i++) /* first missing, then existing */
        if (use_slot(&work, i == 0 ? 300 : 10) != 0)
            return 1;
    CHECK_EQUAL(count_descriptors(), descriptors);
    return 0;
}

/* A job may replace its slot's directory; the next jail does not work in the replacement. */
static int slot_is_something_else(void *argument)
{
    const struct fixture *f = argument;
    struct work work;
    struct stat st;
    if (step_down(f) != 0)
        return 1;
    CHECK(mkdir("other", 0700) == 0 && close(creat("other/file", 0600)) == 0);
    work = (struct work)WORK_NULL;
    CHECK_EQUAL(work_open_directory(&work, "missing/slot"), -ENOENT);
    CHECK_EQUAL(work_open_directory(&work, "other/file/slot"), -ENOTDIR);
    CHECK_EQUAL(work.top, -1);
    for (unsigned kind = 0; kind < 7; kind++) {
        if (lstat("slot", &st) == 0)
            CHECK(rmdir("slot") == 0);
        CHECK(kind != 0 || close(creat("slot", 0)) == 0);
        CHECK(kind != 1 || symlink("other", "slot") == 0);
        CHECK(kind != 2 || symlink("nowhere", "slot") == 0);
        CHECK(kind != 3 || symlink("slot", "slot") == 0);
        CHECK(kind != 4 || mkfifo("slot", 0) == 0);
        CHECK(kind != 5 || mknod("slot", S_IFSOCK | 0600, 0) == 0);
        if (kind == 6) {
            CHECK(mkdir("slot", 0700) == 0 && chdir("slot") == 0);
            CHECK(make_things() == 0 && chdir(f->top) == 0 && chmod("slot", 0) == 0);
        }
        if (use_slot(&work, 10) != 0) {
            (void)fprintf(stderr, "kind %u\n", kind);
            return 1;
        }
        CHECK(lstat("slot", &st) == 0 && S_ISDIR(st.st_mode));
        CHECK(access("other/file", F_OK) == 0 && access("nowhere", F_OK) < 0);
    }
    return 0;
}

/* A job may move its directory and change the one above, which the same user owns. */
static int job_renames_its_directory(void *argument)
{
    struct work work = WORK_NULL;
    int cwd, other;
    if (step_down(argument) != 0)
        return 1;
    CHECK_EQUAL(work_open_directory(&work, "slot"), 0);
    CHECK_EQUAL(work_begin(&work, 7, MIB, &cwd), 0);
    CHECK_EQUAL(work_begin(&work, 7, MIB, &other), -EEXIST);
    CHECK(rename("slot/job-7", "slot/elsewhere") == 0 && close(creat("slot/elsewhere/a", 0)) == 0);
    CHECK(mkdir("slot/job-8", 0) == 0 && symlink("..", "slot/job-9") == 0);
    CHECK(chmod("slot/elsewhere", 0) == 0 && chmod("slot", 0) == 0);
    CHECK_EQUAL(work_empty(&work), 0);
    CHECK(is_empty(work.top));
    CHECK_EQUAL(mode_of("slot"), 0700);
    CHECK_EQUAL(work_begin(&work, 8, MIB, &cwd), 0);
    return 0;
}

/* What the first program of a pair leaves goes, and the directory stays for the second. */
static int job_directory_is_cleared(void *argument)
{
    struct work work = WORK_NULL;
    int cwd;
    if (step_down(argument) != 0)
        return 1;
    CHECK_EQUAL(work_open_directory(&work, "slot"), 0);
    CHECK_EQUAL(work_begin(&work, 1, MIB, &cwd), 0);
    CHECK(fchdir(cwd) == 0 && make_things() == 0 && fchmod(cwd, 0) == 0);
    CHECK_EQUAL(work_clear(&work), 0);
    CHECK(is_empty(cwd));
    CHECK(fchdir(work.top) == 0 && touch("job-1/of-second"));
    CHECK_EQUAL(work_empty(&work), 0);
    return 0;
}

/* --- running them ------------------------------------------------------------------------- */

/* The state is the scenario, which gets a fixture. */
static void test_with_fixture(void **state)
{
    int (*const *scenario)(void *fixture) = *state;
    struct fixture f = {.view = VIEW_NULL, .work = WORK_NULL};
    struct work work = WORK_NULL;
    strcpy(f.top, "/tmp/test_work.XXXXXX");
    assert_non_null(mkdtemp(f.top));
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)alarm(SCENARIO_SECONDS);
        _exit((*scenario)(&f));
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    /* A tree may be deeper than a path can be. */
    if (work_open_directory(&work, f.top) == 0)
        close_fd(work.top);
    remove_tree(f.top);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(status, 0);
}

/* clang-format off */
#define WITH_FIXTURE(name) {#name, test_with_fixture, NULL, NULL, &(int (*)(void *)){name}}
/* clang-format on */

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(bytes_are_bounded),
        WITH_FIXTURE(inodes_are_bounded),
        WITH_FIXTURE(only_places_are_writable),
        WITH_FIXTURE(no_tmp_of_its_own),
        WITH_FIXTURE(hostile_trees_go_away),
        WITH_FIXTURE(held_files_are_noticed),
        WITH_FIXTURE(a_twin_has_its_own),
        WITH_FIXTURE(top_directories_are_reset),
        WITH_FIXTURE(cleared_is_as_fresh),
        WITH_FIXTURE(too_many_attributes),
        WITH_FIXTURE(unpack_files),
        WITH_FIXTURE(unpack_truncated),
        WITH_FIXTURE(unpack_lies),
        WITH_FIXTURE(unpack_long_names),
        WITH_FIXTURE(unpack_twice),
        WITH_FIXTURE(unpack_names_that_lead_out),
        WITH_FIXTURE(unpack_through_links),
        WITH_FIXTURE(unpack_too_much),
        WITH_FIXTURE(slot_is_used),
        WITH_FIXTURE(slot_is_something_else),
        WITH_FIXTURE(job_renames_its_directory),
        WITH_FIXTURE(job_directory_is_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
