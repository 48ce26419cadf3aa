/* SPDX-License-Identifier: MIT */
#include "jailproc.h"

#include "daemon/base/await.h"
#include "daemon/base/clock.h"
#include "daemon/jail/cgroup_fork.h"
#include "daemon/jail/link.h"
#include "daemon/jail/mounts.h"
#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The zygote has this long to make a copy of itself, for which the supervisor waits. It takes less
 * than a millisecond, and a few where every processor is busy. */
#define COPY_MS 1000

void jail_shape_deinit(struct jail_shape *shape)
{
    shape->filter = close_fd(shape->filter);
}

/* --- in the jail's process, before its program runs; nothing is allocated here ------------- */

/* Keeps all capabilities over the new user namespace across execve. The jail is not root there, so
 * execve would drop them unless they are ambient. */
static bool keep_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(data); i++)
        data[i].inheritable = data[i].permitted;
    if (syscall(SYS_capset, &header, data) < 0)
        return false;
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
            return false;
    return true;
}

/* CODE is -1 for an ordinary jail. */
static bool arrange_descriptors(int link_fd, int program, int code, int *ret_program)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int link = fcntl(link_fd, F_DUPFD, LINK_CODE_FD + 1);
    int moved = fcntl(program, F_DUPFD, LINK_CODE_FD + 1);
    int moved_code = code >= 0 ? fcntl(code, F_DUPFD, LINK_CODE_FD + 1) : -1;
    unsigned end = code >= 0 ? LINK_CODE_FD + 1 : LINK_CODE_FD;
    *ret_program = LINK_FD + 1;
    return null >= 0 && link >= 0 && moved >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
           dup2(null, STDOUT_FILENO) >= 0 && dup2(link, LINK_FD) >= 0 &&
           dup3(moved, LINK_FD + 1, O_CLOEXEC) >= 0 &&
           (code < 0 || dup2(moved_code, LINK_CODE_FD) >= 0) && close_range(end, ~0U, 0) == 0;
}

/* Replaces PROGRAM by a read-only clone of its mount. A job that is a fork of the jail can open the
 * program through /proc/self/exe; it is a file of the host, whose mode and times its owner could
 * change. If PROGRAM has been renamed or deleted meanwhile, the host has nothing to lose and
 * PROGRAM itself is used. */
static int seal_program(int program)
{
    char link[32], path[PATH_MAX];
    struct stat st, found;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", program);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    const uint64_t sealed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    int tree = *path == '/' ? mounts_clone(AT_FDCWD, path, sealed, false, MOUNTS_NO_PASS) : -1;
    bool same = tree >= 0 && fstat(program, &st) == 0 && fstat(tree, &found) == 0 &&
                st.st_dev == found.st_dev && st.st_ino == found.st_ino;
    return same ? tree : program;
}

/* ROLE: LINK_ZYGOTE, or NULL for an ordinary jail. */
_Noreturn static void become_jail(int link_fd, const struct jailproc_config *config,
                                  const char *directory, const char *role, bool user_namespace)
{
    static const char name[] = "rubricd-jail";
    char *argv[] = {(char *)(uintptr_t)name, (char *)(uintptr_t)directory, (char *)(uintptr_t)role,
                    NULL};
    char *envp[] = {NULL};
    /* Only jobs that are forks of the jail can see its program. */
    int program = config->argv && user_namespace ? seal_program(config->program) : config->program;
    int code = role ? config->code : -1;
    int moved;
    if ((!user_namespace || keep_capabilities()) &&
        arrange_descriptors(link_fd, program, code, &moved))
        (void)syscall(SYS_execveat, moved, "", argv, envp, AT_EMPTY_PATH);
    _exit(127); /* the supervisor sees the link closed */
}

/* --- in the supervisor --------------------------------------------------------------------- */

static uint64_t namespaces(uint32_t layers)
{
    uint64_t flags = 0;
    if (layer_in(layers, LAYER_USER_NAMESPACE))
        flags |= CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
    /* A jail in a cgroup namespace could not start jobs in their leaves; each job unshares it
     * instead. */
    if (layer_in(layers, LAYER_USER_NAMESPACE) && !layer_in(layers, LAYER_CGROUP))
        flags |= CLONE_NEWCGROUP;
    if (layer_in(layers, LAYER_PID_NAMESPACE))
        flags |= CLONE_NEWPID;
    return flags;
}

static bool add_string(char strings[LINK_STRINGS_MAX], const char *text, uint32_t *length)
{
    size_t n = strlen(text) + 1;
    if (*length + n > LINK_STRINGS_MAX)
        return false;
    memcpy(strings + *length, text, n);
    *length += (uint32_t)n;
    return true;
}

static bool add_list(char strings[LINK_STRINGS_MAX], const char *const *list, uint32_t *length,
                     uint32_t *count)
{
    for (; list && *list; list++, ++*count)
        if (*count == LINK_LIST_MAX || !add_string(strings, *list, length))
            return false;
    return true;
}

static int send_setup(int link_fd, const struct jailproc_config *config,
                      const struct jail_shape *shape)
{
    char strings[LINK_STRINGS_MAX];
    struct link_setup setup = {
        .layers = shape->layers,
        .uid = geteuid(),
        .gid = getegid(),
        .path_count = (uint32_t)config->readable_count,
        .has_filter = shape->filter >= 0,
        .bounds_memory = config->bounds_memory && layer_in(shape->layers, LAYER_CGROUP),
        .pass = shape->pass,
        .slot = shape->slot,
    };
    uint32_t *length = &setup.strings_length;
    bool fits = true;
    for (size_t i = 0; i < config->readable_count && fits; i++)
        fits = add_string(strings, config->readable[i], length);
    fits = fits && add_list(strings, config->argv, length, &setup.argc) &&
           add_list(strings, config->envp, length, &setup.envc) &&
           add_list(strings, config->modules, length, &setup.module_count);
    if (!fits)
        return -E2BIG;
    if (config->idmap)
        (void)snprintf(setup.idmap, sizeof(setup.idmap), "%s", config->idmap);
    if (config->version)
        (void)snprintf(setup.version, sizeof(setup.version), "%s", config->version);
    return link_send_setup(link_fd, &setup, strings, shape->filter);
}

/* A socket pair of which the supervisor's end does not block. */
static int make_link(int *ret_ours, int *ret_theirs)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0) {
        int r = -errno;
        close_fd(fds[0]);
        close_fd(fds[1]);
        return r;
    }
    *ret_ours = fds[0];
    *ret_theirs = fds[1];
    return 0;
}

/* Executes CONFIG's program in its ROLE in new namespaces (FLAGS for clone3()) and sends it SHAPE.
 */
static int start(const struct jailproc_config *config, const struct jail_shape *shape,
                 uint64_t flags, const char *directory, const char *role, struct jailproc *ret)
{
    _cleanup_close_ int ours = -1, theirs = -1, pidfd = -1;
    bool must_enter; /* never set: no group is asked for */
    int r = make_link(&ours, &theirs);
    if (r < 0)
        return r;
    pid_t pid = cgroup_fork(-1, flags | CLONE_CLEAR_SIGHAND, MOUNTS_NO_PASS, &pidfd, &must_enter);
    if (pid == 0)
        become_jail(theirs, config, directory, role, flags & CLONE_NEWUSER);
    if (pid < 0)
        return pid;
    r = send_setup(ours, config, shape);
    if (r < 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return r;
    }
    *ret = (struct jailproc){.pid = pid, .pidfd = TAKE_FD(pidfd), .link_fd = TAKE_FD(ours)};
    return 0;
}

int jailproc_spawn(const struct jailproc_config *config, const struct jail_shape *shape,
                   const char *directory, struct jailproc *ret)
{
    return start(config, shape, namespaces(shape->layers), directory, NULL, ret);
}

/* --- the zygote ---------------------------------------------------------------------------- */

int jailproc_spawn_zygote(const struct jailproc_config *config, const char *directory,
                          struct jailproc *ret)
{
    const struct jail_shape shape = {
        .layers = config->zygote_has_uids ? LAYER_BIT(LAYER_OWN_UID) : 0,
        .filter = -1,
    };
    assert(config->argv);
    return start(config, &shape, CLONE_NEWUSER | CLONE_NEWNS, directory, LINK_ZYGOTE, ret);
}

int jailproc_copy(const struct jailproc *zygote, const struct jailproc_config *config,
                  const struct jail_shape *shape, const char *directory, struct jailproc *ret)
{
    _cleanup_close_ int ours = -1, theirs = -1, pidfd = -1;
    const struct link_birth birth = {
        .namespaces = namespaces(shape->layers),
        .own_uid = layer_in(shape->layers, LAYER_OWN_UID),
        .slot = shape->slot,
    };
    struct link_born born;
    int r = make_link(&ours, &theirs);
    /* The set-up waits in the link, which is closed with it if there is no jail. */
    if (r == 0)
        r = send_setup(ours, config, shape);
    if (r == 0)
        r = link_send_birth(zygote->link_fd, &birth, directory, theirs);
    if (r < 0)
        return r;
    if (!await_readable(zygote->link_fd, clock_now_ns() + COPY_MS * NS_PER_MS))
        return -ETIMEDOUT;
    r = link_receive_born(zygote->link_fd, &born, &pidfd);
    if (r <= 0)
        return r < 0 ? r : -EPIPE;
    if (born.error != 0)
        return -born.error;
    *ret = (struct jailproc){.pid = born.pid, .pidfd = TAKE_FD(pidfd), .link_fd = TAKE_FD(ours)};
    return 0;
}
