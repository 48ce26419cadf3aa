/* SPDX-License-Identifier: MIT */
#include "cgroup_place.h"
#include "cgroup_file.h"
#include "cgroup_text.h"

#include "proto/util.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

/* Longer texts are cut here: this is more mounts or processes than any host has. */
#define TEXT_MAX ((size_t)1 << 20)

const char cgroup_delegate_remedy[] = "set Delegate=yes in its unit, or start it with "
                                      "systemd-run --user --scope -p Delegate=yes";

/* --- finding our group -------------------------------------------------------------------- */

static int read_proc(const char *proc, const char *name, char **ret, struct fault *fault)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", proc, name);
    int r = n < 0 || (size_t)n >= sizeof(path)
                ? -ENAMETOOLONG
                : cgroup_file_read_all(AT_FDCWD, path, TEXT_MAX, ret);
    if (r < 0)
        (void)fault_set(fault, "cannot read %s/%s: %s; mount proc", proc, name, strerror(-r));
    return r;
}

/* Returns whether this process is in the group. It may not be: a later mount hides an earlier one
 * at the same place. */
static bool is_ours(int fd)
{
    _cleanup_free_ char *procs = NULL;
    if (cgroup_file_read_all(fd, "cgroup.procs", TEXT_MAX, &procs) < 0)
        return false;
    char self[24];
    int n = snprintf(self, sizeof(self), "%d\n", (int)getpid());
    const char *line = procs;
    while (strncmp(line, self, (size_t)n) != 0) {
        const char *end = strchr(line, '\n');
        if (!end)
            return false;
        line = end + 1;
    }
    return true;
}

/* Opens this process's group through one of the mounts in the text of mountinfo. */
static int open_group(const char *mounts, const char *group, struct cgroup_place *place,
                      struct cgroup_mount *mount)
{
    while (cgroup_text_next_mount(&mounts, mount) > 0) {
        if (cgroup_text_path(mount, group, place->path, sizeof(place->path)) < 0)
            continue;
        _cleanup_close_ int fd = cgroup_file_open_group(AT_FDCWD, place->path);
        if (fd >= 0 && is_ours(fd)) {
            place->fd = TAKE_FD(fd);
            return 0;
        }
    }
    return -ENOENT;
}

/* --- whether it may be divided ------------------------------------------------------------ */

/* Returns 0 if this process may make children of the group and move processes between them. */
static int check_delegated(int fd)
{
    static const char *const needed[] = {".", "cgroup.procs", "cgroup.subtree_control"};
    for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
        if (faccessat(fd, needed[i], W_OK, AT_EACCESS) < 0)
            return -errno;
    return 0;
}

/* If this group is a leaf `daemon` and the group above is delegated as well, the group above is the
 * one to divide. */
static void step_up(struct cgroup_place *place, const struct cgroup_mount *mount)
{
    char *name = strrchr(place->path, '/');
    if (strlen(place->path) <= strlen(mount->point) || strcmp(name, "/" CGROUP_DAEMON) != 0)
        return;
    int above = openat(place->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above < 0 || check_delegated(above) < 0) {
        (void)close_fd(above);
        return;
    }
    (void)close_fd(place->fd);
    place->fd = above;
    place->in_leaf = true;
    *name = '\0';
}

static int check_access(const struct cgroup_place *place, struct fault *fault)
{
    int r = check_delegated(place->fd);
    if (r == -EROFS)
        (void)fault_set(fault,
                        "the control group %.200s is mounted read-only; set "
                        "ProtectControlGroups=no in rubricd's unit, or mount it writable in the "
                        "container",
                        place->path);
    else if (r < 0)
        (void)fault_set(fault,
                        "the control group %.200s is not delegated to rubricd's user (%u): %s; %s",
                        place->path, (unsigned)geteuid(), strerror(-r), cgroup_delegate_remedy);
    return r;
}

static int check_alone(const struct cgroup_place *place, struct fault *fault)
{
    char procs[CGROUP_FILE_MAX], path[40], name[40] = "?";
    int r = cgroup_file_read(place->fd, "cgroup.procs", procs, sizeof(procs));
    if (r < 0) {
        (void)fault_set(fault, "cannot read the processes of the control group %.200s: %s; %s",
                        place->path, strerror(-r), cgroup_delegate_remedy);
        return r;
    }
    long other = cgroup_text_other_process(procs, getpid());
    if (other == 0)
        return 0;
    (void)snprintf(path, sizeof(path), "/proc/%ld/comm", other);
    (void)cgroup_file_read(AT_FDCWD, path, name, sizeof(name));
    name[strcspn(name, "\n")] = '\0';
    (void)fault_set(fault,
                    "the control group %.200s has other processes (%ld, %s), which are not "
                    "rubricd's to move; give it a group of its own: %s",
                    place->path, other, name, cgroup_delegate_remedy);
    return -EBUSY;
}

/* Takes the lock against other daemons; it ends with the descriptor, however this process ends. */
static int lock_out_others(const struct cgroup_place *place, struct fault *fault)
{
    if (flock(place->fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    int r = errno == EWOULDBLOCK ? -EBUSY : -errno;
    if (r == -EBUSY)
        (void)fault_set(fault,
                        "another rubricd uses the control group %.200s; give each a group of its "
                        "own: %s",
                        place->path, cgroup_delegate_remedy);
    else
        (void)fault_set(fault, "cannot lock the control group %.200s: %s", place->path,
                        strerror(-r));
    return r;
}

int cgroup_place_find(const char *proc, struct cgroup_place *ret, struct fault *fault)
{
    struct cgroup_place place = CGROUP_PLACE_NULL;
    _cleanup_free_ char *groups = NULL, *mounts = NULL, *group = malloc(PATH_MAX);
    _cleanup_free_ struct cgroup_mount *mount = malloc(sizeof(*mount));
    if (!group || !mount) {
        (void)fault_set(fault, "out of memory");
        return -ENOMEM;
    }
    int r = read_proc(proc, "cgroup", &groups, fault);
    if (r == 0)
        r = read_proc(proc, "mountinfo", &mounts, fault);
    if (r < 0)
        return r;
    r = cgroup_text_group(groups, group, PATH_MAX);
    if (r < 0) {
        (void)fault_set(fault, "this system has no control groups of version 2; boot it with "
                               "systemd.unified_cgroup_hierarchy=1");
        return r;
    }
    r = open_group(mounts, group, &place, mount);
    if (r < 0) {
        (void)fault_set(fault,
                        "the control group %.200s cannot be seen from here; mount cgroup2 at "
                        "/sys/fs/cgroup",
                        group);
        return r;
    }
    place.is_hybrid = cgroup_text_is_hybrid(groups);
    step_up(&place, mount);
    r = check_access(&place, fault);
    if (r == 0)
        r = lock_out_others(&place, fault);
    if (r == 0)
        r = check_alone(&place, fault);
    if (r < 0)
        place.fd = close_fd(place.fd);
    else
        *ret = place;
    return r;
}
