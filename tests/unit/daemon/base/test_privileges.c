/* SPDX-License-Identifier: MIT */
/* Tests which account a daemon started by root becomes, what it makes for that account, and that
 * there is no way back. Accounts are looked up in files of the test's own, in a mount namespace of
 * its own. */
#include "daemon/base/privileges.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define GRADER_UID 4242
#define GRADER_GID 4343
#define NOBODY 65534

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
                             "toor:x:0:4343:root again:/root:/bin/sh\n"
                             "grader:x:4242:4343:grader:/nonexistent:/bin/sh\n";
static const char with_nobody[] = "nobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n";
static const char root_as_nobody[] = "nobody:x:0:0:nobody:/nonexistent:/bin/sh\n";
static const char group[] = "root:x:0:\ngrader:x:4343:\nbench:x:4444:grader\nother:x:4445:toor\n";

static int write_over(const char *path, const char *first, const char *second)
{
    char made[] = "/tmp/test_privileges.XXXXXX";
    _cleanup_close_ int fd = mkostemp(made, O_CLOEXEC);
    CHECK(fd >= 0 && fchmod(fd, 0644) == 0);
    CHECK(dprintf(fd, "%s%s", first, second) == (int)(strlen(first) + strlen(second)));
    int r = mount(made, path, NULL, MS_BIND, NULL);
    (void)unlink(made);
    CHECK(r == 0);
    return 0;
}

/* Gives this process accounts of its own; SKIPPED if it lacks the right. */
static int have_accounts(const char *nobody)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
        SKIP("this user cannot have accounts of its own");
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 && errno == EINVAL)
        SKIP("the root is no mount, as in a chroot: what is mounted here would be seen elsewhere");
    int r = write_over("/etc/passwd", passwd, nobody);
    if (r == 0)
        r = write_over("/etc/group", group, "");
    return r == 0 ? write_over("/etc/nsswitch.conf", "passwd: files\ngroup: files\n", "") : r;
}

/* --- finding ------------------------------------------------------------------------------ */

static int find(const char *name, uid_t uid, gid_t gid, const char *found)
{
    struct account account;
    struct fault fault = FAULT_NULL;
    CHECK_EQUAL(privileges_find(name, "rubricd", &account, &fault), 0);
    CHECK_EQUAL(account.uid, uid);
    CHECK_EQUAL(account.gid, gid);
    CHECK(strcmp(account.name, found) == 0 && !*fault.text);
    return 0;
}

static int find_none(const char *name, int expected, const char *message)
{
    struct account account, untouched;
    struct fault fault = FAULT_NULL;
    memset(&account, 0x5A, sizeof(account));
    untouched = account;
    CHECK_EQUAL(privileges_find(name, "rubricd", &account, &fault), expected);
    CHECK(memcmp(&account, &untouched, sizeof(account)) == 0);
    if (strcmp(fault.text, message) != 0) {
        (void)fprintf(stderr, "\"%s\", expected \"%s\"\n", fault.text, message);
        return 1;
    }
    CHECK(privileges_find(name, "rubricd", &account, NULL) == expected);
    return 0;
}

static int find_accounts(void)
{
    int r = have_accounts(with_nobody);
    if (r != 0)
        return r;
    if (find("grader", GRADER_UID, GRADER_GID, "grader") != 0 ||
        find("nobody", NOBODY, NOBODY, "nobody") != 0)
        return 1;
    /* Only the default account has a substitute. */
    if (find("rubricd", NOBODY, NOBODY, "nobody") != 0)
        return 1;
    return find_none("rubric", -ENOENT, "[daemon] user: there is no account rubric") ||
           find_none("", -ENOENT, "[daemon] user: there is no account ") ||
           find_none("4242", -ENOENT, "[daemon] user: there is no account 4242");
}

/* Root is refused under any name. */
static int refuse_root(void)
{
    int r = have_accounts(root_as_nobody);
    if (r != 0)
        return r;
    return find_none("root", -EPERM, "[daemon] user: root is uid 0; jobs are never run as root") ||
           find_none("toor", -EPERM, "[daemon] user: toor is uid 0; jobs are never run as root") ||
           find_none("rubricd", -EPERM,
                     "[daemon] user: rubricd is uid 0; jobs are never run as root");
}

static int find_no_nobody(void)
{
    int r = have_accounts("");
    if (r != 0)
        return r;
    return find_none("rubricd", -ENOENT, "[daemon] user: there is no account rubricd");
}

/* --- directories -------------------------------------------------------------------------- */

static int setup(void **state)
{
    char *top = strdup("/tmp/test_privileges.XXXXXX");
    assert_non_null(top);
    assert_non_null(mkdtemp(top));
    assert_int_equal(chdir(top), 0);
    (void)umask(0);
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

static const struct account grader = {GRADER_UID, GRADER_GID, "grader"};

static void expect_owned(const char *path, uid_t uid, gid_t gid, mode_t mode)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(st.st_mode & 07777, mode);
    /* Only root can give anything away. */
    assert_int_equal(st.st_uid, geteuid() == 0 ? uid : geteuid());
    assert_int_equal(st.st_gid, geteuid() == 0 ? gid : getegid());
}

static void make(const char *path, mode_t mode)
{
    struct fault fault = FAULT_NULL;
    size_t descriptors = count_descriptors();
    int r = privileges_make_directory(path, mode, &grader, &fault);
    if (r != 0)
        fail_msg("%s: %d: %s", path, r, fault.text);
    assert_string_equal(fault.text, "");
    assert_int_equal(count_descriptors(), descriptors);
}

static void make_not(const char *path, int expected, const char *message)
{
    struct fault fault = FAULT_NULL;
    size_t descriptors = count_descriptors();
    assert_int_equal(privileges_make_directory(path, 0700, &grader, &fault), expected);
    assert_string_equal(fault.text, message);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(privileges_make_directory(path, 0700, &grader, NULL), expected);
}

static void test_make_with_its_parent(void **state)
{
    (void)state;
    make("parent/made", 0700);
    expect_owned("parent", GRADER_UID, GRADER_GID, 0755);
    expect_owned("parent/made", GRADER_UID, GRADER_GID, 0700);
    make("parent/other", 0750);
    expect_owned("parent/other", GRADER_UID, GRADER_GID, 0750);
    make("parent/made", 0755); /* it exists now */
    expect_owned("parent/made", GRADER_UID, GRADER_GID, 0700);
    make("parent/third/", 0700);
    expect_owned("parent/third", GRADER_UID, GRADER_GID, 0700);
}

/* An existing parent keeps its owner. */
static void test_make_in_what_is_there(void **state)
{
    (void)state;
    assert_int_equal(mkdir("parent", 0711), 0);
    make("parent/made", 0700);
    expect_owned("parent", 0, 0, 0711);
    expect_owned("parent/made", GRADER_UID, GRADER_GID, 0700);
    assert_int_equal(mkdir("parent/roots", 0751), 0);
    make("parent/roots", 0700);
    expect_owned("parent/roots", GRADER_UID, GRADER_GID, 0751);
}

/* Files of another account keep their owner. */
static void test_make_of_somebody_elses(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("# this user has nobody to take it from\n");
        skip();
    }
    assert_int_equal(mkdir("theirs", 0700), 0);
    assert_int_equal(chown("theirs", 1234, 1235), 0);
    make("theirs", 0700);
    expect_owned("theirs", 1234, 1235, 0700);
}

static void test_make_what_cannot_be(void **state)
{
    struct stat st;
    (void)state;
    make_not("no/such/directory", -ENOENT,
             "[daemon] work_dir: no/such/directory: No such file or directory");
    assert_int_equal(close(open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    make_not("file", -ENOTDIR,
             "[daemon] work_dir: file: cannot be given to grader: Not a directory");
    make_not("file/below", -ENOTDIR, "[daemon] work_dir: file/below: Not a directory");
    assert_int_equal(stat("file", &st), 0);
    assert_int_equal(st.st_uid, geteuid());
}

/* A link is not followed: that would give away its target. */
static void test_make_through_a_link(void **state)
{
    (void)state;
    assert_int_equal(mkdir("target", 0700), 0);
    assert_int_equal(symlink("target", "link"), 0);
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    make_not("link", -ENOTDIR,
             "[daemon] work_dir: link: cannot be given to grader: Not a directory");
    expect_owned("target", 0, 0, 0700);
    make_not("dangling", -ENOTDIR,
             "[daemon] work_dir: dangling: cannot be given to grader: Not a directory");
    assert_int_equal(access("nowhere", F_OK), -1);
}

/* --- dropping ----------------------------------------------------------------------------- */

static int has_no_way_back(uid_t uid, gid_t gid)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    uid_t ruid, euid, suid;
    gid_t rgid, egid, sgid;
    CHECK(getresuid(&ruid, &euid, &suid) == 0 && ruid == uid && euid == uid && suid == uid);
    CHECK(getresgid(&rgid, &egid, &sgid) == 0 && rgid == gid && egid == gid && sgid == gid);
    CHECK(syscall(SYS_capget, &header, caps) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
        CHECK(caps[i].effective == 0 && caps[i].permitted == 0 && caps[i].inheritable == 0);
    CHECK_ERRNO(setuid(0), EPERM);
    CHECK_ERRNO(seteuid(0), EPERM);
    CHECK_ERRNO(setresuid(0, 0, 0), EPERM);
    CHECK_ERRNO(setgid(0), EPERM);
    CHECK_ERRNO(setresgid((gid_t)-1, 0, (gid_t)-1), EPERM);
    CHECK_ERRNO(setgroups(0, NULL), EPERM);
    CHECK_ERRNO(chown("/tmp", uid, gid), EPERM); /* where / is read-only, this is not */
    CHECK(!privileges_are_root());
    return 0;
}

static int drop(void)
{
    struct account account;
    struct fault fault = FAULT_NULL;
    gid_t groups[10];
    int r = have_accounts(with_nobody);
    if (r != 0)
        return r;
    CHECK(privileges_are_root());
    CHECK(setgroups(3, (gid_t[]){0, 4445, 6}) == 0); /* root's groups must be gone afterwards */
    CHECK(privileges_find("grader", "rubricd", &account, &fault) == 0);
    CHECK_EQUAL(privileges_drop(&account, &fault), 0);
    CHECK(!*fault.text);
    CHECK_EQUAL(getgroups(ARRAY_SIZE(groups), groups), 2);
    CHECK(MIN(groups[0], groups[1]) == GRADER_GID && MAX(groups[0], groups[1]) == 4444);
    return has_no_way_back(GRADER_UID, GRADER_GID);
}

/* Also if only the effective uid was root's. */
static int drop_from_both(void)
{
    struct account account = {NOBODY, NOBODY, "nobody"};
    if (geteuid() != 0)
        SKIP("this user has nothing to drop");
    CHECK(setresuid(1234, 0, 0) == 0 && privileges_are_root());
    CHECK_EQUAL(privileges_drop(&account, NULL), 0);
    return has_no_way_back(NOBODY, NOBODY);
}

static int real_root_is_root(void)
{
    if (geteuid() != 0)
        SKIP("this user is not root");
    CHECK(setresuid(0, 1234, 1234) == 0);
    CHECK(privileges_are_root());
    return 0;
}

/* A process without the right to change users keeps its user and says so. */
static int drop_without_right(void)
{
    struct account account = {GRADER_UID, GRADER_GID, "nobody"};
    struct fault fault = FAULT_NULL;
    if (geteuid() == 0)
        CHECK(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
              setresuid(NOBODY, NOBODY, NOBODY) == 0);
    CHECK(!privileges_are_root());
    CHECK_EQUAL(privileges_drop(&account, &fault), -EPERM);
    CHECK(strcmp(fault.text, "becoming nobody: Operation not permitted") == 0);
    return 0;
}

/* An account that is root's is refused even here. */
static int drop_to_root(void)
{
    struct account account = {0, 0, "root"};
    struct fault fault = FAULT_NULL;
    if (geteuid() != 0)
        SKIP("this user is not root");
    CHECK_EQUAL(privileges_drop(&account, &fault), -EPERM);
    CHECK(strcmp(fault.text, "becoming root: the kernel let it be undone") == 0);
    return 0;
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENARIO(find_accounts),
        SCENARIO(refuse_root),
        SCENARIO(find_no_nobody),
        IN_DIRECTORY(test_make_with_its_parent),
        IN_DIRECTORY(test_make_in_what_is_there),
        IN_DIRECTORY(test_make_of_somebody_elses),
        IN_DIRECTORY(test_make_what_cannot_be),
        IN_DIRECTORY(test_make_through_a_link),
        SCENARIO(drop),
        SCENARIO(drop_from_both),
        SCENARIO(real_root_is_root),
        SCENARIO(drop_without_right),
        SCENARIO(drop_to_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
