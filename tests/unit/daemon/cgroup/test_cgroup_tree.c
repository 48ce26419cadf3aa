/* SPDX-License-Identifier: MIT */
/* Tests how a group is divided, and put together again, by directories that look like the kernel's
 * tree: in a mount namespace, in which /proc/self names them. tests/vm tests the real kernel. */
#include "daemon/cgroup/cgroup.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

struct tree {
    char top[32];
    char group[64];
    struct cgroup_tree tree;
    struct fault fault;
};

static int put(const struct tree *t, const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", t->top, name);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    return 0;
}

static int make(const struct tree *t, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", t->top, name);
    CHECK(mkdir(path, 0755) == 0);
    return 0;
}

/* Checks the text of a file, which is what was written into it last and the rest of what was there
 * before. */
static int holds(const struct tree *t, const char *name, const char *expected)
{
    char path[128], text[64] = "";
    (void)snprintf(path, sizeof(path), "%s/%s", t->top, name);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
    if (strcmp(text, expected) != 0) {
        (void)fprintf(stderr, "%s: \"%s\" instead of \"%s\"\n", name, text, expected);
        return 1;
    }
    return 0;
}

static int is_there(const struct tree *t, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", t->top, name);
    return access(path, F_OK) == 0;
}

/* Makes the files of the group GROUP, with this process in it, and shows them in /proc/self. */
static int set_up(struct tree *t, const char *group)
{
    char text[256], name[64], from[64];
    *t = (struct tree){.tree = CGROUP_TREE_NULL, .fault = FAULT_NULL};
    strcpy(t->top, "/tmp/test_tree.XXXXXX");
    CHECK(mkdtemp(t->top) && make(t, "g") == 0);
    (void)snprintf(text, sizeof(text), "%d\n", (int)getpid());
    CHECK(put(t, "g/cgroup.procs", text) == 0 && put(t, "g/cgroup.subtree_control", "") == 0);
    CHECK(put(t, "g/cgroup.controllers", "cpu memory\n") == 0);
    CHECK(make(t, "g/daemon") == 0 && put(t, "g/daemon/cgroup.procs", text) == 0);
    CHECK(put(t, "g/daemon/cgroup.subtree_control", "") == 0);
    CHECK(make(t, "g/jobs") == 0 && put(t, "g/jobs/cgroup.subtree_control", "") == 0);
    CHECK(put(t, "g/jobs/cgroup.kill", "") == 0);
    CHECK(put(t, "g/jobs/cgroup.events", "populated 0\nfrozen 0\n") == 0);
    (void)snprintf(text, sizeof(text), "0::%s\n", group);
    CHECK(put(t, "cgroup", text) == 0);
    (void)snprintf(text, sizeof(text), "32 30 0:28 / %s rw - cgroup2 none rw\n", t->top);
    CHECK(put(t, "mountinfo", text) == 0);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        SKIP("no user namespace can be had: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof(name), "/proc/self/%s", i == 0 ? "cgroup" : "mountinfo");
        (void)snprintf(from, sizeof(from), "%s/%s", t->top, i == 0 ? "cgroup" : "mountinfo");
        CHECK(mount(from, name, NULL, MS_BIND, NULL) == 0);
    }
    return 0;
}

static int open_tree_of(struct tree *t)
{
    int r = cgroup_tree_open(&t->tree, &t->fault);
    if (r < 0)
        (void)fprintf(stderr, "# %s\n", t->fault.text);
    return r;
}

/* --- dividing ----------------------------------------------------------------------------- */

static int a_group_is_divided(void)
{
    struct tree t;
    int r = set_up(&t, "/g");
    if (r != 0)
        return r;
    CHECK(make(&t, "g/jobs/job-1") == 0 && make(&t, "g/jobs/.odd") == 0);
    CHECK(put(&t, "g/jobs/memory.swap.max", "max") == 0);
    CHECK_EQUAL(open_tree_of(&t), 0);
    CHECK(t.fault.text[0] == '\0' && t.tree.own_leaf && t.tree.fd >= 0);
    for (size_t i = 0; i < CGROUP_CONTROLLERS; i++)
        CHECK(t.tree.has[i] && t.tree.enabled[i]);
    CHECK(holds(&t, "g/jobs/cgroup.kill", "1") == 0); /* what a predecessor left, ... */
    CHECK(!is_there(&t, "g/jobs/job-1") && is_there(&t, "g/jobs/.odd")); /* and only groups */
    CHECK(holds(&t, "g/cgroup.subtree_control", "+cpusry") == 0);        /* memory, pids, cpu */
    CHECK(holds(&t, "g/jobs/cgroup.subtree_control", "+cpusry") == 0);
    CHECK(holds(&t, "g/jobs/memory.swap.max", "0ax") == 0);
    CHECK(put(&t, "g/cgroup.subtree_control", "") == 0 && put(&t, "g/cgroup.procs", "") == 0);
    cgroup_tree_close(&t.tree);
    CHECK(t.tree.fd == -1 && t.tree.group_fd == -1 && !t.tree.own_leaf);
    CHECK(holds(&t, "g/cgroup.subtree_control", "-cpusry") == 0);
    CHECK(holds(&t, "g/cgroup.procs", "0") == 0);
    remove_tree(t.top);
    return 0;
}

/* A process that is in the leaf already stays there, now and in the end. */
static int a_leaf_is_kept(void)
{
    struct tree t;
    int r = set_up(&t, "/g/daemon");
    if (r != 0)
        return r;
    CHECK(put(&t, "g/cgroup.procs", "") == 0);
    CHECK_EQUAL(open_tree_of(&t), 0);
    CHECK(!t.tree.own_leaf && t.tree.has[CGROUP_MEMORY]);
    CHECK(put(&t, "g/cgroup.subtree_control", "") == 0);
    cgroup_tree_close(&t.tree);
    CHECK(holds(&t, "g/cgroup.procs", "") == 0);
    CHECK(holds(&t, "g/cgroup.subtree_control", "-cpusry") == 0);
    remove_tree(t.top);
    return 0;
}

/* Controllers that somebody else has enabled stay enabled. */
static int what_was_enabled_stays(void)
{
    struct tree t;
    int r = set_up(&t, "/g");
    if (r != 0)
        return r;
    CHECK(put(&t, "g/cgroup.subtree_control", "cpu memory pids\n") == 0);
    CHECK_EQUAL(open_tree_of(&t), 0);
    for (size_t i = 0; i < CGROUP_CONTROLLERS; i++)
        CHECK(t.tree.has[i] && !t.tree.enabled[i]);
    cgroup_tree_close(&t.tree);
    CHECK(holds(&t, "g/cgroup.subtree_control", "cpu memory pids\n") == 0);
    remove_tree(t.top);
    return 0;
}

/* --- refusals ----------------------------------------------------------------------------- */

/* Opening fails with ERROR and words that contain TEXT, and this process is back where it was. */
static int expect_refusal(struct tree *t, int error, const char *text)
{
    CHECK(put(t, "g/cgroup.subtree_control", "") == 0);
    size_t descriptors = count_descriptors();
    CHECK_EQUAL(cgroup_tree_open(&t->tree, &t->fault), error);
    if (!strstr(t->fault.text, text)) {
        (void)fprintf(stderr, "\"%s\" lacks \"%s\"\n", t->fault.text, text);
        return 1;
    }
    CHECK(t->tree.fd == -1 && count_descriptors() == descriptors);
    remove_tree(t->top);
    return 0;
}

static int remove_file(const struct tree *t, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", t->top, name);
    CHECK(unlink(path) == 0);
    return 0;
}

static int an_old_kernel_is_refused(void)
{
    struct tree t;
    int r = set_up(&t, "/g");
    if (r != 0)
        return r;
    CHECK(remove_file(&t, "g/jobs/cgroup.kill") == 0);
    return expect_refusal(&t, -EOPNOTSUPP, "no cgroup.kill; use Linux 5.14 or later");
}

static int a_leaf_that_takes_nobody(void)
{
    struct tree t;
    int r = set_up(&t, "/g");
    if (r != 0)
        return r;
    CHECK(remove_file(&t, "g/daemon/cgroup.procs") == 0);
    return expect_refusal(&t, -ENOENT, "cannot move to a leaf \"daemon\" of the control group");
}

static int jobs_that_tell_no_events(void)
{
    struct tree t;
    int r = set_up(&t, "/g");
    if (r != 0)
        return r;
    CHECK(remove_file(&t, "g/jobs/cgroup.events") == 0);
    return expect_refusal(&t, -ENOENT, "cannot make a group \"jobs\" in the control group");
}

/* What holds controllers back is named; limits that need none are still to be had. */
static int missing_controllers_are_named(void)
{
    struct tree t;
    int r = set_up(&t, "/g");
    if (r != 0)
        return r;
    CHECK(remove_file(&t, "g/jobs/cgroup.subtree_control") == 0);
    CHECK_EQUAL(open_tree_of(&t), 0);
    CHECK(strstr(t.fault.text, "no controller memory, pids, cpu for jobs: the control group "));
    CHECK(strstr(t.fault.text, "is given \"cpu memory\"; set Delegate=yes in rubricd's unit"));
    for (size_t i = 0; i < CGROUP_CONTROLLERS; i++)
        CHECK(!t.tree.has[i] && t.tree.enabled[i]);
    cgroup_tree_close(&t.tree);
    remove_tree(t.top);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENARIO(a_group_is_divided),
        SCENARIO(a_leaf_is_kept),
        SCENARIO(what_was_enabled_stays),
        SCENARIO(an_old_kernel_is_refused),
        SCENARIO(a_leaf_that_takes_nobody),
        SCENARIO(jobs_that_tell_no_events),
        SCENARIO(missing_controllers_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
