/* SPDX-License-Identifier: MIT */
/* Theory of operation. The kernel gives controllers to the children of a group only while the group
 * itself has no process ("no internal processes"). cgroup_tree_open() therefore:
 *
 *  1. finds the group and checks that all later steps are permitted (cgroup_place.c);
 *  2. moves this process down into the leaf `daemon`;
 *  3. makes `jobs` and removes what a predecessor left there;
 *  4. enables controllers for the children of GROUP and of `jobs`.
 *
 * If a step fails, cgroup_tree_close() undoes the earlier ones in reverse order. The order matters:
 * a controller can be disabled only when no child uses it, and a group that gives controllers to
 * its children accepts no process. */
#include "cgroup.h"
#include "cgroup_file.h"
#include "cgroup_place.h"
#include "cgroup_text.h"

#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#define JOBS "jobs"

static const char *const controllers[CGROUP_CONTROLLERS] = {"memory", "pids", "cpu"};

/* --- what a killed predecessor left ------------------------------------------------------- */

/* Waits until no process in GROUP is alive. Gives up when CGROUP_SETTLE_MS pass without an
 * event. */
static int wait_until_empty(int group)
{
    char text[CGROUP_FILE_MAX];
    _cleanup_close_ int fd = openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    for (;;) {
        uint64_t populated;
        struct pollfd poll_fd = {.fd = fd, .events = POLLPRI};
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
        if (n < 0)
            return -errno;
        text[n] = '\0';
        int r = cgroup_text_value(text, "populated", &populated);
        if (r < 0 || populated == 0)
            return r;
        r = poll(&poll_fd, 1, CGROUP_SETTLE_MS);
        if (r == 0)
            return -EBUSY;
        if (r < 0 && errno != EINTR)
            return -errno;
    }
}

static int remove_groups(int parent)
{
    _cleanup_close_ int fd = cgroup_file_open_group(parent, ".");
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream)
        return fd < 0 ? fd : -errno;
    (void)TAKE_FD(fd);
    int r = 0;
    for (struct dirent *entry; r == 0 && (entry = readdir(stream));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            unlinkat(parent, entry->d_name, AT_REMOVEDIR) < 0)
            r = -errno;
    (void)closedir(stream);
    return r;
}

static int remove_leftovers(int jobs)
{
    int r = cgroup_file_write(jobs, "cgroup.kill", "1");
    if (r == 0)
        r = wait_until_empty(jobs);
    return r < 0 ? r : remove_groups(jobs);
}

/* --- dividing the group ------------------------------------------------------------------- */

static int fault_step(struct fault *fault, int error, const char *what, const char *path)
{
    (void)fault_set(fault, "cannot %s the control group %.200s: %s; %s", what, path,
                    strerror(-error), cgroup_delegate_remedy);
    return error;
}

/* Makes GROUP/NAME, or opens it if it exists. */
static int make_group(int group, const char *name)
{
    if (mkdirat(group, name, 0755) < 0 && errno != EEXIST)
        return -errno;
    return cgroup_file_open_group(group, name);
}

static int enter_leaf(struct cgroup_tree *tree)
{
    _cleanup_close_ int leaf = make_group(tree->group_fd, CGROUP_DAEMON);
    if (leaf < 0)
        return leaf;
    int r = cgroup_file_write(leaf, "cgroup.procs", "0");
    if (r < 0)
        (void)unlinkat(tree->group_fd, CGROUP_DAEMON, AT_REMOVEDIR);
    else
        tree->own_leaf = true;
    return r;
}

static int make_jobs(struct cgroup_tree *tree)
{
    bool was_there = faccessat(tree->group_fd, JOBS, F_OK, 0) == 0;
    int jobs = make_group(tree->group_fd, JOBS);
    if (jobs < 0)
        return jobs;
    tree->fd = jobs;
    /* Linux 5.14 introduced it. No other way kills a tree that forks while it is being killed. */
    if (faccessat(jobs, "cgroup.kill", F_OK, 0) < 0)
        return -EOPNOTSUPP;
    return was_there ? remove_leftovers(jobs) : 0;
}

static int switch_controller(int group, char sign, const char *name)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%c%s", sign, name);
    return cgroup_file_write(group, "cgroup.subtree_control", text);
}

/* One at a time: a write that names several enables all or none of them. */
static int enable_controllers(struct cgroup_tree *tree)
{
    char before[CGROUP_FILE_MAX];
    int r = cgroup_file_read(tree->group_fd, "cgroup.subtree_control", before, sizeof(before));
    for (size_t i = 0; i < CGROUP_CONTROLLERS && r >= 0; i++) {
        bool enabled = cgroup_text_has_word(before, controllers[i]);
        if (!enabled && switch_controller(tree->group_fd, '+', controllers[i]) == 0)
            enabled = tree->enabled[i] = true;
        tree->has[i] = enabled && switch_controller(tree->fd, '+', controllers[i]) == 0;
    }
    /* A limit of a group applies to its children, so set it once for all leaves. Kernels that do
     * not account swap have no such file. */
    if (r >= 0 && tree->has[CGROUP_MEMORY]) {
        r = cgroup_file_write(tree->fd, "memory.swap.max", "0");
        r = r == -ENOENT ? 0 : r;
    }
    return r < 0 ? r : 0;
}

/* Names the missing controllers in FAULT; leaves it alone if none is missing. */
static void note_missing(const struct cgroup_tree *tree, const struct cgroup_place *place,
                         struct fault *fault)
{
    char missing[40] = "", given[CGROUP_FILE_MAX] = "";
    for (size_t i = 0; i < CGROUP_CONTROLLERS; i++)
        if (!tree->has[i])
            (void)snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), "%s%s",
                           missing[0] ? ", " : "", controllers[i]);
    if (!missing[0])
        return;
    (void)cgroup_file_read(tree->group_fd, "cgroup.controllers", given, sizeof(given));
    given[strcspn(given, "\n")] = '\0';
    const char *remedy = "set Delegate=yes in rubricd's unit, and have the groups between pass "
                         "them on (cgroup.subtree_control)";
    if (place->is_hybrid)
        remedy = "version 1 of control groups holds the others, boot with "
                 "systemd.unified_cgroup_hierarchy=1";
    (void)fault_set(fault,
                    "no controller %s for jobs: the control group %.200s is given \"%.80s\"; %s",
                    missing, place->path, given, remedy);
}

static int divide(const struct cgroup_place *place, struct cgroup_tree *tree, struct fault *fault)
{
    int r = place->in_leaf ? 0 : enter_leaf(tree);
    if (r < 0)
        return fault_step(fault, r, "move to a leaf \"" CGROUP_DAEMON "\" of", place->path);
    r = make_jobs(tree);
    if (r == -EOPNOTSUPP) {
        (void)fault_set(fault, "the kernel has no cgroup.kill; use Linux 5.14 or later");
        return r;
    }
    if (r == -EBUSY) {
        (void)fault_set(fault,
                        "jobs of an earlier rubricd in the control group %.200s/" JOBS
                        " cannot be killed; find what holds them with ps, or restart the host",
                        place->path);
        return r;
    }
    if (r < 0)
        return fault_step(fault, r, "make a group \"" JOBS "\" in", place->path);
    r = enable_controllers(tree);
    if (r < 0)
        return fault_step(fault, r, "enable controllers in", place->path);
    return 0;
}

int cgroup_tree_open(struct cgroup_tree *ret, struct fault *fault)
{
    struct cgroup_place place = CGROUP_PLACE_NULL;
    struct cgroup_tree tree = CGROUP_TREE_NULL;
    if (fault)
        fault->text[0] = '\0';
    int r = cgroup_place_find("/proc/self", &place, fault);
    if (r < 0)
        return r;
    tree.group_fd = TAKE_FD(place.fd);
    r = divide(&place, &tree, fault);
    if (r < 0) {
        cgroup_tree_close(&tree);
        return r;
    }
    note_missing(&tree, &place, fault);
    *ret = tree;
    return 0;
}

void cgroup_tree_close(struct cgroup_tree *tree)
{
    if (tree->group_fd < 0)
        return;
    tree->fd = close_fd(tree->fd);
    (void)unlinkat(tree->group_fd, JOBS, AT_REMOVEDIR);
    for (size_t i = 0; i < CGROUP_CONTROLLERS; i++)
        if (tree->enabled[i])
            (void)switch_controller(tree->group_fd, '-', controllers[i]);
    if (tree->own_leaf && cgroup_file_write(tree->group_fd, "cgroup.procs", "0") == 0)
        (void)unlinkat(tree->group_fd, CGROUP_DAEMON, AT_REMOVEDIR);
    (void)close_fd(tree->group_fd);
    *tree = (struct cgroup_tree)CGROUP_TREE_NULL;
}
