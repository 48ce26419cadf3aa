/* SPDX-License-Identifier: MIT */
/* Theory of operation. The jail starts in a copy of the host's mount namespace, in a user namespace
 * in which it has CAP_SYS_ADMIN. view_enter() then:
 *
 *  1. makes the host's mounts slaves: what the host mounts later appears here, what happens here
 *     does not appear on the host;
 *  2. keeps a descriptor of this first namespace (view->host) and unshares a second one
 *     (view->own);
 *  3. mounts an empty tmpfs as the new root and fills it: directories, links, a minimal /etc,
 *     read-only bind mounts of the host's programs and libraries, five device nodes, /proc;
 *  4. pivots into it and detaches the old root.
 *
 * work.c then adds the directories that jobs may write to, and view_seal() makes the root read-only
 * for everybody who does not hold view->root.
 *
 * To show a directory of the host later, the jail enters view->host, clones the mount there,
 * returns to view->own and attaches the clone (view_fetch(), view_attach()). Jobs cannot do this:
 * they hold neither descriptor and have no capability over any namespace. */
#include "view.h"
#include "link.h"
#include "mounts.h"

#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* After so long the kernel sets times of last access again (relatime). */
#define DAY_S ((time_t)24 * 60 * 60)
/* So many milliseconds are more than a tick of the clock of inodes. Where /proc has no times of
 * last access, none makes a difference. */
#define TICKS_MAX 12

#define PROC_ATTRIBUTES (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define DEVICE (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

const char *const view_system[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", NULL};
const char *const view_etc[] = {"alternatives", "ld.so.cache", "localtime", "mime.types",
                                "protocols",    "services",    NULL};
const char *const view_etc_net[] = {"resolv.conf", "gai.conf", "ssl/certs", "ca-certificates.conf",
                                    NULL};
const char *const view_devices[] = {"null", "zero", "full", "random", "urandom", NULL};
static const char *const devices[] = {"null", "full", "random", "urandom", NULL};

/* Empty directories that programs expect to exist. */
static const char *const directories[] = {
    "bench", "dev",  "dev/shm", "etc", "etc/ssl", "home",
    "proc",  "root", "run",     "tmp", "var",     "work",
};

static const char *const links[][2] = {
    {"/proc/self/fd", "dev/fd"},
    {"/proc/self/fd/0", "dev/stdin"},
    {"/proc/self/fd/1", "dev/stdout"},
    {"/proc/self/fd/2", "dev/stderr"},
    {"/proc/self/mounts", "etc/mtab"},
    /* Relative: until pivot_root() an absolute link would lead whatever is created beneath it to
     * the host's directory. */
    {"../run", "var/run"},
    {"../tmp", "var/tmp"},
};

static const char *const files[][2] = {
    {"etc/group", "root:x:0:\njob:x:1000:\nnogroup:x:65534:\n"},
    {"etc/hosts", "127.0.0.1\tlocalhost job\n::1\tlocalhost\n"},
    {"etc/hostname", "job\n"},
};

static int make_file(int root, const char *path, const char *text)
{
    _cleanup_close_ int fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    size_t n = strlen(text);
    if (fd < 0)
        return -errno;
    return write(fd, text, n) == (ssize_t)n ? 0 : -errno;
}

static int make_passwd(int root, uid_t uid)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "root:x:0:0:root:/root:/usr/sbin/nologin\n"
                   "job:x:%u:%u:job:%s:/bin/sh\n"
                   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
                   (unsigned)uid, VIEW_GID, VIEW_WORK);
    return make_file(root, "etc/passwd", text);
}

static int make_skeleton(int root, uid_t uid, bool network)
{
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
        if (mkdirat(root, directories[i], 0755) < 0)
            return -errno;
    for (size_t i = 0; i < ARRAY_SIZE(links); i++)
        if (symlinkat(links[i][0], root, links[i][1]) < 0)
            return -errno;
    int r = make_passwd(root, uid);
    for (size_t i = 0; i < ARRAY_SIZE(files) && r == 0; i++)
        r = make_file(root, files[i][0], files[i][1]);
    if (r == 0)
        r = make_file(root, "etc/nsswitch.conf",
                      network ? "passwd: files\ngroup: files\nhosts: files dns\n"
                              : "passwd: files\ngroup: files\nhosts: files\n");
    return r;
}

/* Makes the directories that lead to the absolute PATH beneath ROOT, and PATH itself as an empty
 * file or directory. *ret_kept is the length of the part of PATH that was there. MADE is scratch
 * space. */
static int make_parts(int root, const char *path, bool directory, char made[PATH_MAX],
                      size_t *ret_kept)
{
    size_t n = strlen(path);
    if (n >= PATH_MAX)
        return -ENAMETOOLONG;
    *ret_kept = 0;
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(made, path + 1, i - 1);
        made[i - 1] = '\0';
        if (i == n && !directory) {
            _cleanup_close_ int fd =
                openat(root, made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
            if (fd < 0 && errno == EEXIST)
                *ret_kept = i;
            return fd < 0 && errno != EEXIST ? -errno : 0;
        }
        if (i > 1 && mkdirat(root, made, 0755) < 0) {
            if (errno != EEXIST)
                return -errno;
            *ret_kept = i;
        }
    }
    return 0;
}

static int make_mountpoint(int root, const char *path, bool directory, size_t *ret_kept)
{
    char made[PATH_MAX];
    int r = make_parts(root, path, directory, made, ret_kept);
    explicit_bzero(made, sizeof(made)); /* the next job may be a copy of this memory */
    return r;
}

/* Shows PATH of the host, which this process still sees, at PLACE beneath ROOT. Copies a symbolic
 * link as a link; skips what does not exist or cannot be reached. */
static int show_at(int root, const char *path, const char *place, uint64_t attributes)
{
    char target[PATH_MAX];
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT || errno == EACCES ? 0 : -errno;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        if (n < 0)
            return -errno;
        target[n] = '\0';
        return symlinkat(target, root, place + 1) < 0 && errno != EEXIST ? -errno : 0;
    }
    _cleanup_close_ int tree = mounts_clone(AT_FDCWD, path, attributes, true, MOUNTS_NO_PASS);
    if (tree < 0)
        return tree;
    size_t kept;
    int r = make_mountpoint(root, place, S_ISDIR(st.st_mode), &kept);
    return r < 0 ? r : mounts_attach(tree, root, place + 1, MOUNTS_NO_PASS);
}

static int show(int root, const char *path, uint64_t attributes)
{
    return show_at(root, path, path, attributes);
}

/* Shows each of NAMES, which are relative to DIRECTORY, as show() does. */
static int show_list(int root, const char *directory, const char *const *names, uint64_t attributes)
{
    for (; *names; names++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s/%s", directory, *names);
        int r = show(root, path, attributes);
        if (r < 0)
            return r;
    }
    return 0;
}

/* resolv.conf is often a link to a place outside the view, so show the file that it leads to. */
static int show_resolver(int root)
{
    _cleanup_close_ int tree =
        mounts_clone(AT_FDCWD, "/etc/resolv.conf", READ_ONLY, false, MOUNTS_NO_PASS);
    if (tree < 0)
        return tree == -ENOENT ? 0 : tree;
    size_t kept;
    int r = make_mountpoint(root, "/etc/resolv.conf", false, &kept);
    return r < 0 ? r : mounts_attach(tree, root, "etc/resolv.conf", MOUNTS_NO_PASS);
}

/* Makes a /proc of this process's pid namespace, attached nowhere. HIDEPID says of which processes
 * it keeps silent: "invisible" for jobs, "off" for the jail. */
static int new_proc(const char *hidepid, uint64_t pass)
{
    /* Where parts of the host's /proc are covered, as in many containers, the kernel refuses a full
     * proc mount and grants at most one that holds only processes. */
    const struct mount_option full[] = {{"hidepid", hidepid}, {NULL, NULL}};
    const struct mount_option processes[] = {{"hidepid", hidepid}, {"subset", "pid"}, {NULL, NULL}};
    int proc = mounts_new("proc", full, PROC_ATTRIBUTES, pass);
    return proc < 0 ? mounts_new("proc", processes, PROC_ATTRIBUTES, pass) : proc;
}

/* Covers the files of PROC, which is attached, that tell of the whole host and of nothing that a
 * job needs: locks that others hold, and the kernel's command line. */
static int cover_proc(int proc, uint64_t pass)
{
    static const char *const names[] = {"locks", "cmdline"};
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(names) && (r == 0 || r == -ENOENT); i++) {
        _cleanup_close_ int empty = mounts_clone(AT_FDCWD, "/dev/null", DEVICE, false, pass);
        r = empty < 0 ? empty : mounts_attach(empty, proc, names[i], pass);
    }
    return r == -ENOENT ? 0 : r; /* a /proc that holds only processes has none of them */
}

static int mount_proc(int root, bool own)
{
    _cleanup_close_ int proc =
        own ? new_proc("invisible", MOUNTS_NO_PASS)
            : mounts_clone(AT_FDCWD, "/proc", PROC_ATTRIBUTES, true, MOUNTS_NO_PASS);
    int r = proc < 0 ? proc : mounts_attach(proc, root, "proc", MOUNTS_NO_PASS);
    return r < 0 ? r : cover_proc(proc, MOUNTS_NO_PASS);
}

/* Memory that processes share by mapping /dev/zero is anonymous (see add_shared_memory() in
 * confine/filter.c), and a filter does not see which file a descriptor is of. /dev/full reads the
 * same, and cannot be mapped. */
static int show_zero(int root, bool bounds_memory)
{
    return show_at(root, bounds_memory ? "/dev/zero" : "/dev/full", "/dev/zero", DEVICE);
}

static int populate(int root, const struct view_options *options, const char **ret_step)
{
    *ret_step = "making its directories";
    int r = make_skeleton(root, options->uid, options->network);
    if (r == 0) {
        *ret_step = "showing the system's programs and libraries";
        r = show_list(root, "", view_system, READ_ONLY);
    }
    if (r == 0)
        r = show_list(root, "/etc", view_etc, READ_ONLY);
    if (r == 0 && options->network) {
        r = show_resolver(root);
        if (r == 0)
            r = show_list(root, "/etc", view_etc_net + 1, READ_ONLY);
    }
    if (r == 0) {
        *ret_step = "showing device nodes";
        r = show_list(root, "/dev", devices, DEVICE);
        if (r == 0)
            r = show_zero(root, options->bounds_memory);
    }
    if (r == 0) {
        *ret_step = LINK_STEP_PROC;
        r = mount_proc(root, options->own_proc);
    }
    if (r == 0)
        *ret_step = "showing what [isolation] readable names";
    for (char *const *path = options->readable; r == 0 && *path; path++)
        r = show(root, *path, READ_ONLY);
    return r;
}

/* Mounts the new root at MOUNTPOINT, so that pivot_root() can use it. Returns a descriptor of
 * it. */
static int mount_root(const char *mountpoint)
{
    static const struct mount_option options[] = {
        {"size", "1m"}, {"nr_inodes", "4096"}, {"mode", "0755"}, {NULL, NULL}};
    _cleanup_close_ int tmpfs =
        mounts_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, MOUNTS_NO_PASS);
    int r = tmpfs < 0 ? tmpfs : mounts_attach(tmpfs, AT_FDCWD, mountpoint, MOUNTS_NO_PASS);
    if (r < 0)
        return r;
    int root = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root < 0 ? -errno : root;
}

static int pivot(int root)
{
    if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return -errno;
    /* pivot_root(".", ".") has stacked the old root onto the new one. */
    return umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ? -errno : 0;
}

int view_enter(struct view *view, const struct view_options *options, const char **ret_step)
{
    _cleanup_close_ int host = -1, own = -1, root = -1, proc = -1;
    *ret_step = "unsharing mounts";
    /* See step 1 above. */
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return -errno;
    host = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (host < 0 || unshare(CLONE_NEWNS) < 0)
        return -errno;
    own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    *ret_step = "mounting a tmpfs";
    int r = own < 0 ? -errno : 0;
    if (r == 0)
        r = root = mount_root(options->mountpoint);
    if (r >= 0)
        r = populate(root, options, ret_step);
    if (r == 0 && options->own_proc)
        r = proc = new_proc("off", MOUNTS_NO_PASS);
    if (r >= 0) {
        *ret_step = "pivoting to the new root";
        r = pivot(root);
    }
    if (r < 0) {
        (void)setns(host, CLONE_NEWNS);
        return r;
    }
    *view = (struct view){
        .host = TAKE_FD(host),
        .own = TAKE_FD(own),
        .root = TAKE_FD(root),
        .proc = TAKE_FD(proc),
        .names = -1,
        .pass = options->pass,
    };
    return 0;
}

int view_seal(const struct view *view)
{
    /* Make the mount that jobs see read-only. The jail keeps a clone of it, another mount of the
     * same tmpfs, which stays writable. */
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    _cleanup_close_ int writable =
        open_tree(view->root, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (writable < 0 || mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof(attr)) < 0)
        return -errno;
    return dup3(writable, view->root, O_CLOEXEC) < 0 ? -errno : 0;
}

int view_enter_twin(struct view *view, bool own_proc)
{
    /* The twin shows nothing of the host to anybody, so it needs none of these. */
    view->host = close_fd(view->host);
    view->own = close_fd(view->own);
    view->root = close_fd(view->root);
    view->proc = close_fd(view->proc);
    view->names = close_fd(view->names);
    if (!own_proc)
        return 0;
    _cleanup_close_ int proc = new_proc("invisible", view->pass);
    int r = proc;
    if (r >= 0)
        r = view->proc = new_proc("off", view->pass);
    if (r >= 0)
        r = mounts_detach("/proc", view->pass);
    if (r == 0)
        r = mounts_attach(proc, AT_FDCWD, "/proc", view->pass);
    if (r == 0)
        r = cover_proc(proc, view->pass);
    return r < 0 ? r : view_renew_proc(view);
}

/* Reads the link NAME of PROC. Returns whether that was later than it was made: as long as both
 * fall into one tick of the clock, relatime dates it each time. */
static bool date_link(int proc, const char *name)
{
    char ignored[64];
    struct stat st;
    (void)!readlinkat(proc, name, ignored, sizeof(ignored));
    if (fstatat(proc, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    return st.st_atim.tv_sec > st.st_mtim.tv_sec ||
           (st.st_atim.tv_sec == st.st_mtim.tv_sec && st.st_atim.tv_nsec > st.st_mtim.tv_nsec);
}

/* Reads what the kernel keeps as long as the mount, which dates no directory. The first who reads
 * it after it was made, and the first after each DAY_S, sets the time of last access. */
static bool read_lasting(int proc)
{
    bool self = date_link(proc, "self");
    return date_link(proc, "thread-self") && self;
}

/* Opens the jobs' /proc for its names, if it is not open, and reads what lasts. */
static int read_proc(struct view *view, time_t now)
{
    static const struct timespec tick = {.tv_nsec = 1000000};
    _cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0)
        return -errno;
    for (int i = 0; i < TICKS_MAX && !read_lasting(proc); i++)
        (void)nanosleep(&tick, NULL);
    view->read = now;
    if (view->names < 0)
        view->names = mounts_pick(proc, view->pass);
    return view->names < 0 ? view->names : 0;
}

int view_renew_proc(struct view *view)
{
    if (view->proc < 0)
        return 0;
    time_t now = time(NULL);
    if (view->names < 0 || now < view->read || now - view->read >= DAY_S) {
        int r = read_proc(view, now);
        if (r < 0)
            return r;
    }
    /* To mount another /proc takes ten times as long, and a wait for all CPUs. */
    return mounts_forget(view->names, view->pass);
}

bool view_is_tmp(const char *path)
{
    return strncmp(path, "/tmp/", 5) == 0 || strncmp(path, "/var/tmp/", 9) == 0;
}

int view_attach(const struct view *view, int tree, const char *target, size_t *ret_kept)
{
    struct stat st;
    size_t kept;
    assert(view->root >= 0);
    _cleanup_close_ int attached = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (attached < 0 || fstat(tree, &st) < 0)
        return -errno;
    /* /tmp is a separate mount, which jobs can write to; the mount point must be made on that
     * one. */
    int root = view_is_tmp(target) ? attached : view->root;
    int r = make_mountpoint(root, target, S_ISDIR(st.st_mode), &kept);
    if (r == 0 && ret_kept) /* who empties that mount removes the mount point, too */
        *ret_kept = view_is_tmp(target) ? strlen(target) : kept;
    return r < 0 ? r : mounts_attach(tree, AT_FDCWD, target, view->pass);
}

static int remove_parts(int root, char *path, size_t kept)
{
    for (char *end = path + strlen(path); end > path + kept; end = strrchr(path, '/')) {
        *end = '\0';
        if (unlinkat(root, path + 1, AT_REMOVEDIR) < 0 &&
            (errno != ENOTDIR || unlinkat(root, path + 1, 0) < 0))
            return -errno;
    }
    return 0;
}

int view_detach(const struct view *view, const char *target, size_t kept)
{
    char path[PATH_MAX];
    int r = mounts_detach(target, view->pass);
    if (r < 0 || strlen(target) <= kept)
        return r;
    (void)snprintf(path, sizeof(path), "%s", target);
    r = remove_parts(view->root, path, kept);
    explicit_bzero(path, sizeof(path)); /* the next job may be a copy of this memory */
    return r;
}

static int open_without_links(const char *path, uint64_t pass)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS,
    };
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how), 0, pass);
    return fd < 0 ? -errno : fd;
}

int view_fetch(const struct view *view, const char *path, bool recursive)
{
    _cleanup_close_ int tree = -1;
    assert(view->host >= 0 && view->own >= 0);
    int r = mounts_enter(view->host, view->pass);
    if (r < 0)
        return r;
    _cleanup_close_ int found = open_without_links(path, view->pass);
    tree = found < 0 ? found : mounts_clone(found, "", READ_ONLY, recursive, view->pass);
    /* Come back even on failure. A jail that cannot is useless, and its next job fails and says
     * so. */
    r = mounts_enter(view->own, view->pass);
    if (r == 0)
        r = tree;
    return r < 0 ? r : TAKE_FD(tree);
}

int view_put_by(const struct view *view, int tree, const char *place)
{
    int r = mounts_enter(view->host, view->pass);
    if (r < 0)
        return r;
    int put = mounts_attach(tree, AT_FDCWD, place, view->pass);
    r = mounts_enter(view->own, view->pass);
    return r < 0 ? r : put;
}

int view_take(const struct view *view, const char *place, const char *name, uint64_t attributes)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", place, name) >= PATH_MAX)
        return -ENAMETOOLONG;
    int r = mounts_enter(view->host, view->pass);
    if (r < 0)
        return r;
    _cleanup_close_ int tree = mounts_clone(AT_FDCWD, path, attributes, false, view->pass);
    r = mounts_enter(view->own, view->pass);
    if (r == 0)
        r = tree;
    return r < 0 ? r : TAKE_FD(tree);
}
