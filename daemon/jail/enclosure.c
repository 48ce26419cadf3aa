/* SPDX-License-Identifier: MIT */
/* Theory of operation. Where the host grants it, the supervisor has started the jail in new user,
 * mount, ipc, uts and pid namespaces, and, if jobs have no control groups of their own, in a new
 * cgroup namespace (daemon/confine/jailproc.c). The jail has all capabilities over its user
 * namespace and none over the host. enclosure_build() uses them, each step before one that would
 * forbid it:
 *
 *  1. map one user, or two (idmap.h), and one group into the user namespace, and set a neutral
 *     host name;
 *  2. unshare the network namespace, which has only a loopback device;
 *  3. open and empty the slot's directory, the work directory on hosts without a view;
 *  4. enter the view (view.c), attach the tmpfs that jobs write to (work.c), seal the view;
 *  5. build the Landlock ruleset that jobs enforce on themselves in lockdown.c, or find out that
 *     one can be built, where each job needs its own;
 *  6. forbid further user namespaces, and install the seccomp filter, which the jail and all of its
 *     jobs keep. From here on the jail needs its pass for what it does to mounts and namespaces,
 *     to make rulesets, and to compare processes (pass.h);
 *  7. drop the bounding, ambient and inheritable capabilities, and become undumpable, so that no
 *     job can look into the jail.
 *
 * A step that fails costs its layer, which lose() takes off the list and notes for the supervisor;
 * only the identity, the slot's directory and the capabilities are indispensable. The per-job part
 * below shows and hides directories, by the capabilities that the jail has kept for itself. */
#include "enclosure.h"
#include "identity.h"
#include "idmap.h"
#include "landlock.h"
#include "mounts.h"
#include "sockets.h"

#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* --- identity ------------------------------------------------------------------------------ */

/* Clears the ambient, bounding and inheritable sets. The jail keeps its permitted capabilities over
 * its user namespace, but no execve can pass them on. */
static int bound_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* EPERM: the jail has no capabilities */
    if (syscall(SYS_capget, &header, data) < 0)
        return -errno;
    for (size_t i = 0; i < ARRAY_SIZE(data); i++)
        data[i].inheritable = 0;
    return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* --- view and work directory --------------------------------------------------------------- */

/* A host path shown beneath /tmp replaces the jobs' own /tmp. */
static bool shows_tmp(const struct enclosure *c)
{
    for (char *const *path = c->readable; *path; path++)
        if (view_is_tmp(*path))
            return true;
    return false;
}

static int enter_view(struct enclosure *c, const char *slot_directory, const char **ret_step)
{
    struct view_options options = {
        .mountpoint = slot_directory,
        .readable = c->readable,
        .uid = VIEW_UID,
        .own_proc = layer_in(c->layers, LAYER_PID_NAMESPACE),
        .network = !layer_in(c->layers, LAYER_NETWORK),
        .bounds_memory = c->bounds_memory,
        .pass = c->pass,
    };
    int r = view_enter(&c->view, &options, ret_step);
    if (r < 0)
        return r;
    *ret_step = "making the work directory";
    r = work_open_tmpfs(&c->work, &c->view, shows_tmp(c), slot_directory);
    if (r == 0) {
        *ret_step = "renewing its /proc";
        r = view_renew_proc(&c->view);
    }
    if (r == 0) {
        *ret_step = "sealing it";
        r = view_seal(&c->view);
    }
    if (r < 0) {
        (void)setns(c->view.host, CLONE_NEWNS);
        c->work = (struct work)WORK_NULL;
    }
    return r;
}

/* Takes LAYER out of force and notes the negative errno ERROR for the supervisor. */
static void lose(struct enclosure *c, struct link_notice *notice, enum layer layer, int error)
{
    assert(layer_in(c->layers, layer) && error < 0);
    c->layers &= ~LAYER_BIT(layer);
    notice->layer_errors[layer] = -error;
}

/* Maps the users and the group. The zygote has written the map of users of a jail that it has made
 * with a uid per slot; the jail has that identity then. */
static int set_up_identity(struct enclosure *c, const struct link_setup *setup,
                           struct link_notice *notice)
{
    const struct idmap_request request = {.slot = setup->slot};
    struct idmap_reply reply;
    if (!layer_in(c->layers, LAYER_USER_NAMESPACE))
        return 0;
    if (!layer_in(c->layers, LAYER_OWN_UID))
        return identity_map(VIEW_UID, setup->uid, VIEW_GID, setup->gid);
    int r = geteuid() == IDMAP_JAIL ? 0 : idmap_ask(setup->idmap, &request, &reply);
    if (r == 0)
        return identity_map_group(VIEW_GID, setup->gid);
    lose(c, notice, LAYER_OWN_UID, r);
    return identity_map(VIEW_UID, setup->uid, VIEW_GID, setup->gid);
}

static int set_up_files(struct enclosure *c, const char *slot_directory, struct link_notice *notice,
                        const char **ret_step)
{
    const char *step = "";
    *ret_step = "opening the slot's directory";
    int r = work_open_directory(&c->work, slot_directory);
    if (r < 0 || !layer_in(c->layers, LAYER_MOUNT_NAMESPACE))
        return r;
    struct work host = c->work;
    r = enter_view(c, slot_directory, &step);
    if (r == 0) {
        close_fd(host.top);
    } else {
        lose(c, notice, LAYER_MOUNT_NAMESPACE, r);
        (void)strncpy(notice->view_step, step, sizeof(notice->view_step) - 1);
        c->work = host;
    }
    return 0;
}

/* --- filters ------------------------------------------------------------------------------- */

static int allow_list(const struct enclosure *c, int ruleset, const char *directory,
                      const char *const *names, enum landlock_access access)
{
    int r = 0;
    for (; *names && r == 0; names++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s/%s", directory, *names);
        r = landlock_allow_path(ruleset, c->landlock_version, path, access);
    }
    return r;
}

/* Without a view, allows the files of the host that a view would show. */
static int allow_of_host(const struct enclosure *c, int ruleset)
{
    static const char *const etc[] = {
        "passwd", "group", "nsswitch.conf", "hosts", "ld.so.conf", "ld.so.conf.d", NULL};
    bool network = !layer_in(c->layers, LAYER_NETWORK);
    int r = allow_list(c, ruleset, "", view_system, LANDLOCK_READ);
    if (r == 0)
        r = allow_list(c, ruleset, "/etc", view_etc, LANDLOCK_READ);
    if (r == 0)
        r = allow_list(c, ruleset, "/etc", etc, LANDLOCK_READ);
    if (r == 0 && network)
        r = allow_list(c, ruleset, "/etc", view_etc_net, LANDLOCK_READ);
    if (r == 0)
        r = allow_list(c, ruleset, "/dev", view_devices, LANDLOCK_DEVICE);
    for (char *const *path = c->readable; r == 0 && *path; path++)
        r = landlock_allow_path(ruleset, c->landlock_version, *path, LANDLOCK_READ);
    return r;
}

static int allow_of_view(const struct enclosure *c, int ruleset)
{
    int r = landlock_allow_path(ruleset, c->landlock_version, "/", LANDLOCK_READ);
    for (size_t i = 0; i < WORK_SEEN && r == 0; i++)
        if (c->work.directories[i] >= 0)
            r = landlock_allow(ruleset, c->landlock_version, c->work.directories[i],
                               LANDLOCK_WRITE);
    return r < 0 ? r : allow_list(c, ruleset, "/dev", view_devices, LANDLOCK_DEVICE);
}

static bool has_view(const struct enclosure *c)
{
    return layer_in(c->layers, LAYER_MOUNT_NAMESPACE);
}

static int new_ruleset(const struct enclosure *c)
{
    bool files = layer_in(c->layers, LAYER_FILESYSTEM);
    _cleanup_close_ int ruleset =
        landlock_new(c->landlock_version, files, layer_in(c->layers, LAYER_NETWORK), c->pass);
    int r = ruleset;
    if (r >= 0 && files)
        r = has_view(c) ? allow_of_view(c, ruleset) : allow_of_host(c, ruleset);
    return r < 0 ? r : TAKE_FD(ruleset);
}

static int set_up_landlock(struct enclosure *c)
{
    c->landlock_version = landlock_version();
    if (c->landlock_version == 0)
        return -EOPNOTSUPP;
    int ruleset = new_ruleset(c);
    if (ruleset < 0)
        return ruleset;
    /* Without a view, each job has another writable directory and so needs its own ruleset.
     * Building one here still finds out whether it works. */
    if (has_view(c) || !layer_in(c->layers, LAYER_FILESYSTEM))
        c->ruleset = ruleset;
    else
        close_fd(ruleset);
    return 0;
}

/* Installs FILTER. Unless IS_LAST, the jail and its jobs can install more with the pass. */
static int set_up_seccomp(const struct enclosure *c, int filter, bool is_last)
{
    /* In front of a program, whose jumps are relative. Other architectures' calls are refused by
     * it, or here, both with ENOSYS. */
    static const struct sock_filter last[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    };
    struct sock_filter instructions[ARRAY_SIZE(last) + FILTER_MAX];
    size_t ahead = is_last ? ARRAY_SIZE(last) : 0;
    uint32_t action = SECCOMP_RET_ERRNO;
    if (filter < 0)
        return -EOPNOTSUPP;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0)
        return -errno;
    memcpy(instructions, last, sizeof(last));
    size_t most = FILTER_MAX * sizeof(struct sock_filter);
    ssize_t n = pread(filter, instructions + ahead, most, 0);
    if (n <= 0 || n == (ssize_t)most || n % sizeof(struct sock_filter) != 0)
        return n < 0 ? -errno : -EPROTO;
    struct sock_fprog program = {
        .len = (unsigned short)(ahead + (size_t)n / sizeof(struct sock_filter)),
        .filter = instructions,
    };
    /* Without capabilities over its user namespace the kernel demands no_new_privs for a filter.
     * Jobs set it anyway. */
    if (layer_in(c->layers, LAYER_NO_NEW_PRIVS) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

/* Makes the pass worthless to jobs. A job that is a fork of the jail can read the pass from its
 * memory and tell later jobs. For a process without capabilities over a user namespace the kernel
 * refuses the calls that the pass opens, but for those that make filters (set_up_seccomp() sees to
 * them) and rulesets. So no job may make a user namespace: this limit forbids it
 * to everything inside the jail's, at no cost per job. Returns false where the limit cannot be set
 * (the host grants no user namespace, or /proc/sys is read-only); each job then gives up the calls
 * (pass.h). */
static bool bar_user_namespaces(const struct enclosure *c)
{
    return layer_in(c->layers, LAYER_USER_NAMESPACE) &&
           identity_write("/proc/sys/user/max_user_namespaces", "0") == 0;
}

/* --- the first state ----------------------------------------------------------------------- */

static int count_sockets(struct enclosure *c)
{
    if (!layer_in(c->layers, LAYER_NET_NAMESPACE))
        return 0;
    c->socket_count = close_fd(c->socket_count);
    int fd = sockets_open(c->view.proc);
    /* ENOENT: this kernel's /proc has no such file, or what covers it. */
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    c->socket_count = fd;
    c->sockets = sockets_read(fd);
    return 0;
}

int enclosure_check_sockets(const struct enclosure *c, unsigned own)
{
    bool is_first = c->socket_count < 0 || sockets_read(c->socket_count) == c->sockets + own;
    return is_first ? 0 : -EBUSY;
}

/* Needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN over the pid namespace, which the jail keeps. */
static void open_last_pid(struct enclosure *c)
{
    if (c->view.proc >= 0)
        c->last_pid = openat(c->view.proc, "sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
}

void enclosure_restart_pids(const struct enclosure *c, enum enclosure_pids from)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "%d", (int)from - 1);
    /* The namespace is that of the writer, be that the jail or its twin. */
    if (c->last_pid >= 0)
        (void)!pwrite(c->last_pid, text, (size_t)n, 0);
}

bool enclosure_guards_signals(const struct enclosure *c)
{
    return layer_in(c->layers, LAYER_LANDLOCK) &&
           landlock_handled(c->landlock_version, true, true).scopes != 0;
}

unsigned enclosure_counted(const struct enclosure *c, unsigned processes)
{
    return layer_in(c->layers, LAYER_OWN_UID) ? 0 : processes;
}

bool enclosure_guards_twin(const struct enclosure *c)
{
    /* Where jobs have a pid namespace, the filter goes by pids. */
    bool limits = layer_in(c->layers, LAYER_SECCOMP) &&
                  (c->last_pid >= 0 || !layer_in(c->layers, LAYER_PID_NAMESPACE));
    return layer_in(c->layers, LAYER_OWN_UID) || (enclosure_guards_signals(c) && limits);
}

rlim_t enclosure_limit_account(struct enclosure *c, const struct link_job *request)
{
    if (layer_in(c->layers, LAYER_USER_NAMESPACE) || !layer_in(c->layers, LAYER_RLIMITS) ||
        request->cgroup_counts)
        return RLIM_INFINITY;
    return account_limit(&c->account, request->limits.of[LIMIT_PROCESSES]);
}

/* --- all of it ----------------------------------------------------------------------------- */

int enclosure_build(struct enclosure *c, const struct link_setup *setup, char *const *readable,
                    const char *slot_directory, int filter, struct link_notice *notice,
                    const char **ret_step)
{
    int r;
    c->layers = layers_consistent(setup->layers & LAYERS_ALL);
    c->view = (struct view)VIEW_NULL;
    c->work = (struct work)WORK_NULL;
    c->ruleset = c->socket_count = c->last_pid = -1;
    c->readable = readable;
    c->pass = setup->pass;
    c->bounds_memory = setup->bounds_memory == 1;
    *ret_step = "mapping the identity of the user namespace";
    r = set_up_identity(c, setup, notice);
    if (r < 0)
        return r;
    if (layer_in(c->layers, LAYER_PID_NAMESPACE) && getpid() != 1)
        lose(c, notice, LAYER_PID_NAMESPACE, -EINVAL);
    if (layer_in(c->layers, LAYER_USER_NAMESPACE))
        (void)!sethostname("job", 3);
    if (layer_in(c->layers, LAYER_NET_NAMESPACE) && unshare(CLONE_NEWNET) < 0)
        lose(c, notice, LAYER_NET_NAMESPACE, -errno);

    r = set_up_files(c, slot_directory, notice, ret_step);
    if (r < 0)
        return r;
    if (layer_in(c->layers, LAYER_LANDLOCK) && (r = set_up_landlock(c)) < 0)
        lose(c, notice, LAYER_LANDLOCK, r);
    bool is_barred = layer_in(c->layers, LAYER_SECCOMP) && bar_user_namespaces(c);
    /* Who gives up the pass does so by a filter; and see shield.h. */
    bool is_last = is_barred && enclosure_guards_signals(c);
    /* The filter comes after every step that uses calls which it forbids. All jobs inherit it. */
    if (layer_in(c->layers, LAYER_SECCOMP) && (r = set_up_seccomp(c, filter, is_last)) < 0)
        lose(c, notice, LAYER_SECCOMP, r);
    c->gives_up_pass = layer_in(c->layers, LAYER_SECCOMP) && !is_barred && setup->argc > 0;
    open_last_pid(c);
    *ret_step = "giving up capabilities";
    r = bound_capabilities();
    /* Jobs must not inspect the jail's memory and environment. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    c->layers = layers_consistent(c->layers);
    assert(!has_view(c) || c->view.root >= 0);
    notice->layers = c->layers;
    return r < 0 ? r : count_sockets(c);
}

/* --- per job ------------------------------------------------------------------------------- */

static int check_bench(int fd, const struct link_job *job)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    /* ESTALE: another directory has replaced the one that the supervisor opened. */
    return st.st_dev == job->bench_device && st.st_ino == job->bench_inode ? 0 : -ESTALE;
}

static int hide_bench(struct enclosure *c)
{
    int r = *c->bench ? mounts_detach(VIEW_BENCH, c->pass) : 0;
    if (r == 0)
        explicit_bzero(c->bench, strlen(c->bench)); /* the next job may be a copy of this memory */
    return r;
}

static int show_bench(struct enclosure *c, const struct link_job *job, const char *path)
{
    if (strcmp(c->bench, path) == 0 && c->bench_device == job->bench_device &&
        c->bench_inode == job->bench_inode)
        return 0;
    int r = hide_bench(c);
    if (r < 0)
        return r;
    assert(!*c->bench);
    _cleanup_close_ int tree = view_fetch(&c->view, path, false);
    r = tree < 0 ? tree : check_bench(tree, job);
    if (r == 0)
        r = view_attach(&c->view, tree, VIEW_BENCH, NULL);
    if (r < 0)
        return r;
    (void)snprintf(c->bench, sizeof(c->bench), "%s", path);
    c->bench_device = job->bench_device;
    c->bench_inode = job->bench_inode;
    return 0;
}

static int show_readable(struct enclosure *c, char *const *paths)
{
    for (size_t i = 0; paths[i]; i++) {
        _cleanup_close_ int tree = view_fetch(&c->view, paths[i], false);
        int r = tree < 0 ? tree : view_attach(&c->view, tree, paths[i], &c->kept[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int enclosure_enter_twin(struct enclosure *c, bool is_apart, const char **ret_step)
{
    *ret_step = "hiding the bench of an earlier job";
    int r = hide_bench(c);
    if (r == 0 && has_view(c)) {
        *ret_step = "mounting its own /proc";
        r = view_enter_twin(&c->view, layer_in(c->layers, LAYER_PID_NAMESPACE));
    }
    if (r == 0) {
        *ret_step = "separating its directories";
        r = work_enter_twin(&c->work, is_apart);
    }
    if (r == 0 && c->ruleset >= 0) {
        *ret_step = "making its Landlock ruleset";
        c->ruleset = close_fd(c->ruleset);
        r = c->ruleset = new_ruleset(c);
    }
    if (r >= 0) {
        *ret_step = "counting its sockets";
        r = count_sockets(c);
    }
    return r < 0 ? r : 0;
}

int enclosure_show(struct enclosure *c, const struct link_job *job, const struct link_lists *lists,
                   enum link_stage *ret_stage)
{
    if (!has_view(c))
        return 0;
    *ret_stage = LINK_STAGE_BENCH;
    int r = lists->bench ? show_bench(c, job, lists->bench) : hide_bench(c);
    if (r < 0)
        return r;
    *ret_stage = LINK_STAGE_READABLE;
    return show_readable(c, lists->readable);
}

int enclosure_hide(struct enclosure *c, const struct link_lists *lists)
{
    int r = 0;
    if (!has_view(c))
        return 0;
    size_t count = 0;
    while (lists->readable[count])
        count++;
    /* In reverse order: one may be mounted inside another. */
    while (count-- > 0) {
        int of_one = view_detach(&c->view, lists->readable[count], c->kept[count]);
        r = r < 0 ? r : of_one;
    }
    return r;
}

int enclosure_make_ruleset(const struct enclosure *c, const struct link_lists *lists, int cwd,
                           int *ret_own)
{
    if (!layer_in(c->layers, LAYER_LANDLOCK) || c->ruleset >= 0)
        return 0;
    _cleanup_close_ int ruleset = new_ruleset(c);
    int r =
        ruleset < 0 ? ruleset : landlock_allow(ruleset, c->landlock_version, cwd, LANDLOCK_WRITE);
    if (r == 0 && lists->bench)
        r = landlock_allow_path(ruleset, c->landlock_version, lists->bench, LANDLOCK_READ);
    for (char *const *path = lists->readable; r == 0 && *path; path++)
        r = landlock_allow_path(ruleset, c->landlock_version, *path, LANDLOCK_READ);
    if (r == 0)
        *ret_own = TAKE_FD(ruleset);
    return r;
}

int enclosure_share_domain(const struct enclosure *c, int cgroup)
{
    int version = c->landlock_version;
    if (!layer_in(c->layers, LAYER_LANDLOCK) || c->ruleset < 0 || !has_view(c))
        return 0;
    _cleanup_close_ int ruleset = new_ruleset(c);
    int r = ruleset < 0 ? ruleset : 0;
    bool files = layer_in(c->layers, LAYER_FILESYSTEM);
    if (r == 0 && files && c->view.proc >= 0)
        r = landlock_allow(ruleset, version, c->view.proc, LANDLOCK_READ);
    if (r == 0 && files && cgroup >= 0)
        r = landlock_allow(ruleset, version, cgroup, LANDLOCK_WRITE);
    if (r == 0)
        r = landlock_enforce(ruleset);
    return r < 0 ? r : 1;
}
