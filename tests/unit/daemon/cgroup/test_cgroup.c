/* SPDX-License-Identifier: MIT */
/* Tests control groups without any: by the kernel's texts, and by directories that look like its
 * tree. tests/vm tests the real kernel, in a virtual machine. */
#include "daemon/cgroup/cgroup.h"
#include "daemon/cgroup/cgroup_file.h"
#include "daemon/cgroup/cgroup_place.h"
#include "daemon/cgroup/cgroup_text.h"
#include "daemon/jail/cgroup_fork.h"
#include "daemon/jail/wipe.h"
#include "proto/util.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NOBODY 65534
#define HYBRID "9:name=systemd:/user.slice\n8:pids:/a:b\n0::/system.slice/x.service\n"
#define MOUNTS_HEAD                                              \
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"   \
    "30 22 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs cgroup2 ro\n" \
    "31 30 0:27 / /sys/fs/cgroup/pids rw shared:3 - cgroup cgroup rw,pids\n"

/* --- texts -------------------------------------------------------------------------------- */

static void group_is_found(void **state)
{
    static const struct {
        const char *text, *group;
        int result;
    } cases[] = {
        {"0::/\n", "/", 0},
        {"0::/user.slice/a b:c", "/user.slice/a b:c", 0},
        {HYBRID, "/system.slice/x.service", 0},
        {"9:pids:/0::/x\n0::/y\n", "/y", 0},
        {"", NULL, -ENOENT},
        {"8:pids:/x\n", NULL, -ENOENT},
        {"10::/x\n", NULL, -ENOENT},
        {"0::\n", NULL, -ENOENT},
        {"0::/0123456789012345678901234567890\n", NULL, -ENAMETOOLONG},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char group[32] = "";
        assert_int_equal(cgroup_text_group(cases[i].text, group, sizeof(group)), cases[i].result);
        assert_string_equal(group, cases[i].group ? cases[i].group : "");
    }
    char exact[5];
    assert_int_equal(cgroup_text_group("0::/abc\n", exact, sizeof(exact)), 0);
    assert_int_equal(cgroup_text_group("0::/abcd\n", exact, sizeof(exact)), -ENAMETOOLONG);
}

static void version_1_is_seen(void **state)
{
    (void)state;
    assert_true(cgroup_text_is_hybrid(HYBRID));
    assert_false(cgroup_text_is_hybrid("0::/x\n"));
    assert_false(cgroup_text_is_hybrid(""));
}

static void mounts_are_found(void **state)
{
    struct cgroup_mount mount;
    const char *text = MOUNTS_HEAD
        "32 30 0:28 /a\\040b /sys/fs/x\\134\\040\\011y rw shared:4 master:1 - cgroup2 none rw\n"
        "33 30 0:28 / /no-optional-field rw - cgroup2 cgroup2 rw,nsdelegate";
    (void)state;
    assert_int_equal(cgroup_text_next_mount(&text, &mount), 1);
    assert_string_equal(mount.root, "/a b");
    assert_string_equal(mount.point, "/sys/fs/x\\ \ty");
    assert_int_equal(cgroup_text_next_mount(&text, &mount), 1);
    assert_string_equal(mount.root, "/");
    assert_string_equal(mount.point, "/no-optional-field");
    assert_int_equal(cgroup_text_next_mount(&text, &mount), 0);
    assert_int_equal(cgroup_text_next_mount(&text, &mount), 0);
}

static void odd_mounts_are_passed_over(void **state)
{
    struct cgroup_mount mount;
    char line[2 * PATH_MAX], path[PATH_MAX + 1];
    static const char *const lines[] = {
        "",
        "\n\n",
        " - cgroup2 \n",
        "32 30 0:28 - cgroup2 none rw\n",
        "32 30 0:28 / - cgroup2 none rw\n",
        "32 30 0:28 relative /x rw - cgroup2 none rw\n",
        "32 30 0:28 / /sys/fs/cgroup rw - cgroup",
        MOUNTS_HEAD,
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        const char *text = lines[i];
        assert_int_equal(cgroup_text_next_mount(&text, &mount), 0);
    }
    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    path[PATH_MAX] = '\0';
    (void)snprintf(line, sizeof(line), "32 30 0:28 / %s rw - cgroup2 none rw\n%s", path,
                   "33 30 0:28 / /good rw - cgroup2 none rw\n");
    const char *text = line;
    assert_int_equal(cgroup_text_next_mount(&text, &mount), 1);
    assert_string_equal(mount.point, "/good");
}

static void paths_are_made(void **state)
{
    static const struct {
        const char *root, *group, *path;
    } cases[] = {
        {"/", "/", "/m"},
        {"/", "/a/b", "/m/a/b"},
        {"/a", "/a", "/m"},
        {"/a", "/a/b", "/m/b"},
        {"/a", "/ab", NULL},
        {"/a", "/", NULL},
        {"/", "/../a", NULL},
        {"/", "/..", NULL},
        {"/", "/..a", "/m/..a"},
        {"/a/b", "/a", NULL},
        {"/", "/0123456789012345", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char path[16] = "";
        struct cgroup_mount mount = {.point = "/m"};
        (void)snprintf(mount.root, sizeof(mount.root), "%s", cases[i].root);
        int r = cgroup_text_path(&mount, cases[i].group, path, sizeof(path));
        if (cases[i].path) {
            assert_int_equal(r, 0);
            assert_string_equal(path, cases[i].path);
        } else {
            assert_int_equal(r, strlen(cases[i].group) > 12 ? -ENAMETOOLONG : -ENOENT);
        }
    }
}

static void numbers_are_read(void **state)
{
    static const struct {
        const char *text;
        int result;
        uint64_t value;
    } cases[] = {
        {"0\n", 0, 0},
        {"18446744073709551615", 0, UINT64_MAX},
        {"max\n", 0, UINT64_MAX},
        {"7\n8\n", 0, 7},
        {"18446744073709551616\n", -EBADMSG, 0},
        {"-1\n", -EBADMSG, 0},
        {"+1\n", -EBADMSG, 0},
        {" 1\n", -EBADMSG, 0},
        {"1 2\n", -EBADMSG, 0},
        {"maximal\n", -EBADMSG, 0},
        {"ma\n", -EBADMSG, 0},
        {"\n", -EBADMSG, 0},
        {"", -EBADMSG, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t value = 0;
        assert_int_equal(cgroup_text_number(cases[i].text, &value), cases[i].result);
        assert_true(value == cases[i].value);
    }
}

static void values_are_read_by_their_whole_key(void **state)
{
    static const char text[] = "low 1\noom_kill 5\noom 3\nlast max";
    uint64_t value = 0;
    (void)state;
    assert_int_equal(cgroup_text_value(text, "oom", &value), 0);
    assert_int_equal(value, 3);
    assert_int_equal(cgroup_text_value(text, "oom_kill", &value), 0);
    assert_int_equal(value, 5);
    assert_int_equal(cgroup_text_value(text, "last", &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(cgroup_text_value(text, "oo", &value), -ENOENT);
    assert_int_equal(cgroup_text_value(text, "kill", &value), -ENOENT);
    assert_int_equal(cgroup_text_value("", "oom", &value), -ENOENT);
    assert_int_equal(cgroup_text_value("oom", "oom", &value), -ENOENT);
    assert_int_equal(cgroup_text_value("oom x\n", "oom", &value), -EBADMSG);
}

static void pressure_is_a_total(void **state)
{
    static const char text[] = "some avg10=1.00 avg60=0.00 avg300=0.00 total=17\n"
                               "full avg10=0.00 avg60=0.00 avg300=0.00 total=4\n";
    uint64_t value = 0;
    (void)state;
    assert_int_equal(cgroup_text_pressure(text, "some", &value), 0);
    assert_int_equal(value, 17);
    assert_int_equal(cgroup_text_pressure(text, "full", &value), 0);
    assert_int_equal(value, 4);
    assert_int_equal(cgroup_text_pressure(text, "som", &value), -ENOENT);
    assert_int_equal(cgroup_text_pressure("some total=1\n", "full", &value), -ENOENT);
    assert_int_equal(cgroup_text_pressure("", "full", &value), -ENOENT);
    assert_int_equal(cgroup_text_pressure("full avg10=1\nsome total=1\n", "full", &value),
                     -EBADMSG);
    assert_int_equal(cgroup_text_pressure("full total=x\n", "full", &value), -EBADMSG);
    assert_int_equal(value, 4);
}

static void words_and_processes_are_found(void **state)
{
    (void)state;
    assert_true(cgroup_text_has_word("cpuset cpu io memory\n", "cpu"));
    assert_true(cgroup_text_has_word("cpuset cpu io memory\n", "memory"));
    assert_false(cgroup_text_has_word("cpuset io\n", "cpu"));
    assert_false(cgroup_text_has_word("\n", "cpu"));
    assert_int_equal(cgroup_text_other_process("", 5), 0);
    assert_int_equal(cgroup_text_other_process("5\n", 5), 0);
    assert_int_equal(cgroup_text_other_process("5\n55\n", 5), 55);
    assert_int_equal(cgroup_text_other_process("0\n5\n", 5), -1);
    assert_int_equal(cgroup_text_other_process("5\n6", 5), 0); /* cut at the end of the buffer */
}

/* --- made-up trees ------------------------------------------------------------------------ */

struct fake {
    char path[64];
    int dir;
};

static void put(int dir, const char *name, const char *text)
{
    _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void make(int dir, const char *name)
{
    assert_int_equal(mkdirat(dir, name, 0755), 0);
}

/* Makes the files of a group that this process reads, with this process in it if OURS. */
static void put_group(int dir, bool ours)
{
    char self[20] = "";
    if (ours)
        (void)snprintf(self, sizeof(self), "%d\n", (int)getpid());
    put(dir, "cgroup.procs", self);
    put(dir, "cgroup.subtree_control", "");
}

static int set_up(void **state)
{
    struct fake *fake = calloc(1, sizeof(*fake));
    assert_non_null(fake);
    (void)snprintf(fake->path, sizeof(fake->path), "/tmp/rubricd-cgroup-XXXXXX");
    assert_non_null(mkdtemp(fake->path));
    fake->dir = open(fake->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fake->dir >= 0);
    *state = fake;
    return 0;
}

static int tear_down(void **state)
{
    struct fake *fake = *state;
    assert_int_equal(wipe_tree(AT_FDCWD, fake->path), 0);
    fake->dir = close_fd(fake->dir);
    free(fake);
    return 0;
}

/* Makes `proc`, which names GROUP as ours, and `unified` with a group "x" that contains this
 * process; *ret is the path of `proc`. */
static int put_proc(struct fake *fake, const char *group, char ret[static 100])
{
    char text[600];
    make(fake->dir, "proc");
    make(fake->dir, "unified");
    make(fake->dir, "unified/x");
    (void)snprintf(text, sizeof(text), "8:pids:/\n0::%s\n", group);
    put(fake->dir, "proc/cgroup", text);
    (void)snprintf(text, sizeof(text), MOUNTS_HEAD "32 30 0:28 / %s/unified rw - cgroup2 none rw\n",
                   fake->path);
    put(fake->dir, "proc/mountinfo", text);
    (void)snprintf(ret, 100, "%s/proc", fake->path);
    int x = cgroup_file_open_group(fake->dir, "unified/x");
    assert_true(x >= 0);
    put_group(x, true);
    return x;
}

static void a_group_of_ours_is_found(void **state)
{
    char proc[100];
    struct fake *fake = *state;
    struct fault fault = FAULT_NULL;
    struct cgroup_place place = CGROUP_PLACE_NULL;
    _cleanup_close_ int x = put_proc(fake, "/x", proc);
    struct stat ours, found;
    assert_int_equal(cgroup_place_find(proc, &place, &fault), 0);
    assert_string_equal(fault.text, "");
    assert_int_equal(fstat(x, &ours), 0);
    assert_int_equal(fstat(place.fd, &found), 0);
    assert_true(ours.st_ino == found.st_ino);
    assert_false(place.in_leaf);
    assert_true(place.is_hybrid);
    assert_non_null(strstr(place.path, "/unified/x"));
    assert_int_equal(fcntl(place.fd, F_GETFD), FD_CLOEXEC);
    place.fd = close_fd(place.fd);
}

static void a_mount_without_us_is_passed_over(void **state)
{
    char proc[100], text[600];
    struct fake *fake = *state;
    struct cgroup_place place = CGROUP_PLACE_NULL;
    (void)close_fd(put_proc(fake, "/x", proc));
    make(fake->dir, "old");
    make(fake->dir, "old/x");
    int old = cgroup_file_open_group(fake->dir, "old/x");
    put_group(old, false);
    old = close_fd(old);
    (void)snprintf(text, sizeof(text),
                   "30 1 0:28 / %s/nowhere rw - cgroup2 none rw\n"
                   "31 1 0:28 / %s/old rw - cgroup2 none rw\n"
                   "32 1 0:28 / %s/unified rw - cgroup2 none rw\n",
                   fake->path, fake->path, fake->path);
    put(fake->dir, "proc/mountinfo", text);
    assert_int_equal(cgroup_place_find(proc, &place, NULL), 0);
    assert_non_null(strstr(place.path, "/unified/x"));
    place.fd = close_fd(place.fd);
}

/* A search that finds no place must leave nothing behind. */
static void expect_fault(const char *proc, int error, const char *text)
{
    struct fault fault = FAULT_NULL;
    struct cgroup_place place = CGROUP_PLACE_NULL;
    assert_int_equal(cgroup_place_find(proc, &place, &fault), error);
    if (!strstr(fault.text, text))
        print_message("# fault: %s\n", fault.text);
    assert_non_null(strstr(fault.text, text));
    assert_int_equal(place.fd, -1);
}

static void the_leaf_daemon_means_the_group_above(void **state)
{
    char proc[100];
    struct fake *fake = *state;
    struct cgroup_place place = CGROUP_PLACE_NULL;
    _cleanup_close_ int x = put_proc(fake, "/x/daemon", proc);
    put_group(x, false);
    make(x, "daemon");
    _cleanup_close_ int leaf = cgroup_file_open_group(x, "daemon");
    put_group(leaf, true);
    assert_int_equal(cgroup_place_find(proc, &place, NULL), 0);
    assert_true(place.in_leaf);
    assert_string_equal(strrchr(place.path, '/'), "/x");
    place.fd = close_fd(place.fd);
    /* Another process is in the group above. */
    put(x, "cgroup.procs", "1\n");
    expect_fault(proc, -EBUSY, "/unified/x has other processes (1, ");
}

/* "daemon" at the root of the mount is an ordinary name. */
static void a_mounted_daemon_is_a_group_itself(void **state)
{
    char proc[100], text[300];
    struct fake *fake = *state;
    struct cgroup_place place = CGROUP_PLACE_NULL;
    (void)close_fd(put_proc(fake, "/daemon", proc));
    put_group(fake->dir, false);
    make(fake->dir, "daemon");
    _cleanup_close_ int top = cgroup_file_open_group(fake->dir, "daemon");
    put_group(top, true);
    (void)snprintf(text, sizeof(text), "32 1 0:28 /daemon %s/daemon rw - cgroup2 none rw\n",
                   fake->path);
    put(fake->dir, "proc/mountinfo", text);
    assert_int_equal(cgroup_place_find(proc, &place, NULL), 0);
    assert_false(place.in_leaf);
    place.fd = close_fd(place.fd);
}

static void what_is_missing_is_told(void **state)
{
    char proc[100];
    struct fake *fake = *state;
    (void)close_fd(put_proc(fake, "/x", proc));
    put(fake->dir, "proc/mountinfo", MOUNTS_HEAD);
    expect_fault(proc, -ENOENT,
                 "the control group /x cannot be seen from here; mount cgroup2 at /sys/fs/cgroup");
    put(fake->dir, "proc/cgroup", "8:pids:/\n");
    expect_fault(proc, -ENOENT,
                 "this system has no control groups of version 2; boot it with "
                 "systemd.unified_cgroup_hierarchy=1");
    assert_int_equal(unlinkat(fake->dir, "proc/mountinfo", 0), 0);
    expect_fault(proc, -ENOENT, "/proc/mountinfo: No such file or directory; mount proc");
}

static void other_processes_are_left_alone(void **state)
{
    char proc[100], text[100];
    struct fake *fake = *state;
    _cleanup_close_ int x = put_proc(fake, "/x", proc);
    (void)snprintf(text, sizeof(text), "%d\n1\n", (int)getpid());
    put(x, "cgroup.procs", text);
    expect_fault(proc, -EBUSY,
                 ", which are not rubricd's to move; give it a group of its own: "
                 "set Delegate=yes in its unit, or start it with systemd-run --user "
                 "--scope -p Delegate=yes");
}

static void a_group_is_for_one_daemon(void **state)
{
    char proc[100];
    struct fake *fake = *state;
    struct cgroup_place place = CGROUP_PLACE_NULL;
    (void)close_fd(put_proc(fake, "/x", proc));
    assert_int_equal(cgroup_place_find(proc, &place, NULL), 0);
    expect_fault(proc, -EBUSY, "another rubricd uses the control group ");
    place.fd = close_fd(place.fd);
    assert_int_equal(cgroup_place_find(proc, &place, NULL), 0);
    place.fd = close_fd(place.fd);
}

/* Looks as a user who is bound by mode bits, in the group X whose file CLOSED, if not NULL, cannot
 * be written. Returns the errno of the result, or 200 for a wrong text. */
static int find_as_nobody(const char *proc, int x, const char *closed, const char *text)
{
    int go[2], status;
    char byte, procs[40];
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct fault fault = FAULT_NULL;
        struct cgroup_place place = CGROUP_PLACE_NULL;
        if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
            _exit(201);
        if (read(go[0], &byte, 1) != 1)
            _exit(202);
        int r = cgroup_place_find(proc, &place, &fault);
        _exit(r < 0 && !strstr(fault.text, text) ? 200 : -r);
    }
    (void)snprintf(procs, sizeof(procs), "%d\n%d\n", (int)getpid(), (int)pid);
    assert_int_equal(fchmod(x, 0777), 0);
    assert_int_equal(fchmodat(x, "cgroup.subtree_control", 0666, 0), 0);
    assert_int_equal(fchmodat(x, "cgroup.procs", 0666, 0), 0);
    put(x, "cgroup.procs", procs);
    if (closed)
        assert_int_equal(fchmodat(x, closed, 0555, 0), 0);
    assert_int_equal(write(go[1], "", 1), 1);
    (void)close(go[0]);
    (void)close(go[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_group_of_somebody_else_is_refused(void **state)
{
    static const char denied[] = ": Permission denied; set Delegate=yes in its unit";
    char proc[100];
    struct fake *fake = *state;
    _cleanup_close_ int x = put_proc(fake, "/x", proc);
    assert_int_equal(chmod(fake->path, 0755), 0);
    /* With nothing closed, the next check fails: the test itself is in the group. */
    assert_int_equal(find_as_nobody(proc, x, NULL, "has other processes"), EBUSY);
    assert_int_equal(find_as_nobody(proc, x, ".", denied), EACCES);
    assert_int_equal(find_as_nobody(proc, x, "cgroup.procs", denied), EACCES);
    assert_int_equal(find_as_nobody(proc, x, "cgroup.subtree_control", denied), EACCES);
}

/* --- leaves in made-up trees -------------------------------------------------------------- */

static struct cgroup_tree fake_tree(const struct fake *fake)
{
    struct cgroup_tree tree = CGROUP_TREE_NULL;
    tree.fd = fake->dir;
    for (size_t i = 0; i < CGROUP_CONTROLLERS; i++)
        tree.has[i] = true;
    return tree;
}

#define MEMORY_EVENTS(max, oom, kill) \
    "low 0\nhigh 0\nmax " max "\noom " oom "\noom_kill " kill "\noom_group_kill 0\n"

static void put_quiet_leaf(int dir)
{
    put(dir, "cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 0\n");
    put(dir, "memory.events", MEMORY_EVENTS("0", "0", "0"));
    put(dir, "memory.peak", "4096\n");
    put(dir, "pids.events", "max 0\n");
    put(dir, "pids.max", "64\n");
    put(dir, "pids.peak", "3\n");
    put(dir, "cgroup.events", "populated 0\nfrozen 0\n");
}

static void usage_is_read(void **state)
{
    struct fake *fake = *state;
    struct cgroup_tree tree = fake_tree(fake);
    struct cgroup_leaf leaf = {.fd = fake->dir, .name = "job-1"};
    struct cgroup_usage usage;
    put_quiet_leaf(fake->dir);
    assert_int_equal(cgroup_leaf_read(&tree, &leaf, &usage), 0);
    assert_int_equal(usage.cpu_us, 1500);
    assert_int_equal(usage.memory_peak_bytes, 4096);
    assert_int_equal(usage.evidence, 0);
    assert_int_equal(cgroup_leaf_is_populated(&leaf), 0);
    put(fake->dir, "cgroup.events", "populated 1\nfrozen 0\n");
    assert_int_equal(cgroup_leaf_is_populated(&leaf), 1);
    /* Linux before 5.19 */
    assert_int_equal(unlinkat(fake->dir, "memory.peak", 0), 0);
    assert_int_equal(cgroup_leaf_read(&tree, &leaf, &usage), 0);
    assert_true(usage.memory_peak_bytes == UINT64_MAX);
}

static void evidence_is_judged(void **state)
{
    static const struct {
        const char *memory_events, *pids_events, *pids_max, *pids_peak;
        unsigned evidence;
    } cases[] = {
        {MEMORY_EVENTS("900", "0", "0"), "max 0\n", "64\n", "64\n", 0},
        {MEMORY_EVENTS("900", "1", "0"), "max 0\n", "64\n", "64\n", 0},
        {MEMORY_EVENTS("900", "1", "1"), "max 0\n", "64\n", "3\n", CGROUP_MEMORY_LIMIT},
        {MEMORY_EVENTS("0", "0", "1"), "max 0\n", "64\n", "3\n", CGROUP_MEMORY_OUTSIDE},
        {MEMORY_EVENTS("0", "0", "0"), "max 1\n", "64\n", "64\n", CGROUP_PIDS_LIMIT},
        {MEMORY_EVENTS("0", "0", "0"), "max 1\n", "64\n", "62\n", CGROUP_PIDS_LIMIT},
        {MEMORY_EVENTS("0", "0", "0"), "max 1\n", "64\n", "61\n", CGROUP_PIDS_OUTSIDE},
        {MEMORY_EVENTS("0", "0", "0"), "max 1\n", "max\n", "61\n", CGROUP_PIDS_OUTSIDE},
        {MEMORY_EVENTS("9", "2", "3"), "max 7\n", "64\n", "64\n",
         CGROUP_MEMORY_LIMIT | CGROUP_PIDS_LIMIT},
    };
    struct fake *fake = *state;
    struct cgroup_tree tree = fake_tree(fake);
    struct cgroup_leaf leaf = {.fd = fake->dir, .name = "job-1"};
    put_quiet_leaf(fake->dir);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cgroup_usage usage;
        put(fake->dir, "memory.events", cases[i].memory_events);
        put(fake->dir, "pids.events", cases[i].pids_events);
        put(fake->dir, "pids.max", cases[i].pids_max);
        put(fake->dir, "pids.peak", cases[i].pids_peak);
        assert_int_equal(cgroup_leaf_read(&tree, &leaf, &usage), 0);
        assert_int_equal(usage.evidence, cases[i].evidence);
    }
    struct cgroup_usage usage;
    put(fake->dir, "memory.events", MEMORY_EVENTS("0", "0", "0"));
    assert_int_equal(unlinkat(fake->dir, "pids.peak", 0), 0);
    assert_int_equal(cgroup_leaf_read(&tree, &leaf, &usage), 0);
    assert_int_equal(usage.evidence, 0);
}

static void what_is_not_understood_is_no_usage(void **state)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"cpu.stat", "user_usec 1\n"},
        {"cpu.stat", "usage_usec x\n"},
        {"memory.events", "max 0\noom_kill 1\n"},
        {"memory.peak", "much\n"},
        {"pids.events", ""},
    };
    struct fake *fake = *state;
    struct cgroup_tree tree = fake_tree(fake);
    struct cgroup_leaf leaf = {.fd = fake->dir, .name = "job-1"};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cgroup_usage usage = {.cpu_us = 7};
        put_quiet_leaf(fake->dir);
        put(fake->dir, cases[i].name, cases[i].text);
        assert_int_equal(cgroup_leaf_read(&tree, &leaf, &usage), -EBADMSG);
        assert_int_equal(usage.cpu_us, 7);
    }
}

static void missing_controllers_are_not_looked_at(void **state)
{
    struct fake *fake = *state;
    struct cgroup_tree tree = CGROUP_TREE_NULL;
    struct cgroup_leaf leaf = {.fd = fake->dir, .name = "job-1"};
    struct cgroup_usage usage;
    const struct cgroup_limits limits = {1 << 20, 10, 50};
    tree.fd = fake->dir;
    put(fake->dir, "cpu.stat", "usage_usec 20\n");
    assert_int_equal(cgroup_leaf_read(&tree, &leaf, &usage), 0);
    assert_int_equal(usage.cpu_us, 20);
    assert_true(usage.memory_peak_bytes == UINT64_MAX);
    assert_int_equal(cgroup_leaf_create(&tree, UINT64_MAX, &limits, &leaf), 0);
    assert_string_equal(leaf.name, "job-18446744073709551615");
    assert_int_equal(cgroup_leaf_create(&tree, UINT64_MAX, &limits, &leaf), -EEXIST);
    assert_int_equal(faccessat(fake->dir, leaf.name, F_OK, 0), 0);
    assert_int_equal(cgroup_leaf_remove(&tree, &leaf), 0);
    assert_int_equal(leaf.fd, -1);
    assert_int_equal(faccessat(fake->dir, "job-18446744073709551615", F_OK, 0), -1);
}

static void a_leaf_without_its_limits_is_none(void **state)
{
    struct fake *fake = *state;
    struct cgroup_tree tree = fake_tree(fake);
    struct cgroup_leaf leaf = CGROUP_LEAF_NULL;
    const struct cgroup_limits limits = {1 << 20, 10, 0};
    /* A directory made here has no memory.max. */
    assert_int_equal(cgroup_leaf_create(&tree, 1, &limits, &leaf), -ENOENT);
    assert_int_equal(leaf.fd, -1);
    assert_int_equal(faccessat(fake->dir, "job-1", F_OK, 0), -1);
}

static void an_empty_tree_is_closed(void **state)
{
    struct cgroup_tree tree = CGROUP_TREE_NULL;
    (void)state;
    cgroup_tree_close(&tree);
    assert_int_equal(tree.fd, -1);
}

/* --- forking ------------------------------------------------------------------------------ */

/* Makes clone3() fail as systemd's filter does. */
static bool take_clone3_away(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {ARRAY_SIZE(filter), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Forks into LEAF. The child exits with 10 if it had to enter and could, with 20 if it need not.
 * Returns that, or another number if anything is wrong. */
static int fork_and_wait(int leaf)
{
    int pidfd = -1, status;
    bool must_enter = false;
    pid_t pid = cgroup_fork(leaf, 0, 0, &pidfd, &must_enter);
    if (pid == 0)
        _exit(!must_enter ? 20 : cgroup_enter(leaf) == 0 ? 10 : 1);
    siginfo_t info;
    if (pid < 0 || fcntl(pidfd, F_GETFD) != FD_CLOEXEC ||
        waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOWAIT) < 0 || info.si_pid != pid)
        return pid < 0 ? -pid : 2;
    (void)close(pidfd);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static void a_child_without_a_leaf(void **state)
{
    (void)state;
    assert_int_equal(fork_and_wait(-1), 20);
}

static void a_leaf_that_is_no_group_is_refused(void **state)
{
    struct fake *fake = *state;
    int pidfd = -1;
    bool must_enter = true;
    assert_int_equal(cgroup_fork(fake->dir, 0, 0, &pidfd, &must_enter), -EBADF);
    assert_int_equal(pidfd, -1);
    assert_int_equal(cgroup_enter(fake->dir), -ENOENT);
}

static void without_clone3_the_child_enters(void **state)
{
    struct fake *fake = *state;
    put(fake->dir, "cgroup.procs", "");
    pid_t pid = fork();
    if (pid == 0)
        _exit(!take_clone3_away() ? 4 : fork_and_wait(-1) != 20 ? 5 : fork_and_wait(fake->dir));
    int status;
    char text[20];
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 10);
    assert_int_equal(cgroup_file_read(fake->dir, "cgroup.procs", text, sizeof(text)), 1);
    assert_string_equal(text, "0");
}

/* The kernel refuses what is written, as for a limit that it does not take. */
static void what_cannot_be_written_is_told(void **state)
{
    _cleanup_close_ int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void)state;
    assert_true(dev >= 0);
    assert_int_equal(cgroup_file_write(dev, "full", "1"), -ENOSPC);
    assert_int_equal(cgroup_file_write(dev, "null", "1"), 0);
    assert_int_equal(cgroup_file_write(dev, "there is no such file", "1"), -ENOENT);
}

#define fake_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_is_found),
        cmocka_unit_test(version_1_is_seen),
        cmocka_unit_test(mounts_are_found),
        cmocka_unit_test(odd_mounts_are_passed_over),
        cmocka_unit_test(paths_are_made),
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(values_are_read_by_their_whole_key),
        cmocka_unit_test(pressure_is_a_total),
        cmocka_unit_test(words_and_processes_are_found),
        cmocka_unit_test(what_cannot_be_written_is_told),
        fake_test(a_group_of_ours_is_found),
        fake_test(a_mount_without_us_is_passed_over),
        fake_test(the_leaf_daemon_means_the_group_above),
        fake_test(a_mounted_daemon_is_a_group_itself),
        fake_test(what_is_missing_is_told),
        fake_test(other_processes_are_left_alone),
        fake_test(a_group_is_for_one_daemon),
        fake_test(a_group_of_somebody_else_is_refused),
        fake_test(usage_is_read),
        fake_test(evidence_is_judged),
        fake_test(what_is_not_understood_is_no_usage),
        fake_test(missing_controllers_are_not_looked_at),
        fake_test(a_leaf_without_its_limits_is_none),
        cmocka_unit_test(an_empty_tree_is_closed),
        cmocka_unit_test(a_child_without_a_leaf),
        fake_test(a_leaf_that_is_no_group_is_refused),
        fake_test(without_clone3_the_child_enters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
