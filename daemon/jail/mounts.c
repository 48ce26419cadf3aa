/* SPDX-License-Identifier: MIT */
#include "mounts.h"

#include "proto/util.h"

#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Each call passes one argument more than the kernel reads: the pass, for the filter. */

static long configure(int context, unsigned command, const char *key, const char *value,
                      uint64_t pass)
{
    return syscall(SYS_fsconfig, context, command, key, value, 0, pass);
}

static int set_options(int context, const struct mount_option *options, uint64_t pass)
{
    for (; options && options->key; options++)
        if (configure(context, options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
                      options->key, options->value, pass) < 0)
            return -errno;
    return 0;
}

int mounts_new(const char *type, const struct mount_option *options, uint64_t attributes,
               uint64_t pass)
{
    _cleanup_close_ int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC, 0, 0, 0, pass);
    if (context < 0)
        return -errno;
    int r = set_options(context, options, pass);
    if (r < 0)
        return r;
    if (configure(context, FSCONFIG_CMD_CREATE, NULL, NULL, pass) < 0)
        return -errno;
    int mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes, 0, 0, pass);
    return mount < 0 ? -errno : mount;
}

int mounts_clone(int dir, const char *path, uint64_t attributes, bool recursive, uint64_t pass)
{
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (*path ? 0 : AT_EMPTY_PATH) |
                     (recursive ? AT_RECURSIVE : 0);
    _cleanup_close_ int tree = (int)syscall(SYS_open_tree, dir, path, flags, 0, 0, pass);
    if (tree < 0)
        return -errno;
    struct mount_attr attr = {.attr_set = attributes, .propagation = MS_PRIVATE};
    if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attr,
                sizeof(attr), pass) < 0)
        return -errno;
    return TAKE_FD(tree);
}

int mounts_attach(int tree, int dir, const char *path, uint64_t pass)
{
    long r = syscall(SYS_move_mount, tree, "", dir, path, MOVE_MOUNT_F_EMPTY_PATH, pass);
    return r < 0 ? -errno : 0;
}

int mounts_detach(const char *path, uint64_t pass)
{
    long r = syscall(SYS_umount2, path, MNT_DETACH | UMOUNT_NOFOLLOW, 0, 0, 0, pass);
    return r < 0 ? -errno : 0;
}

int mounts_enter(int fd, uint64_t pass)
{
    return syscall(SYS_setns, fd, CLONE_NEWNS, 0, 0, 0, pass) < 0 ? -errno : 0;
}

static int reconfigure(int context, uint64_t pass)
{
    return configure(context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, pass) < 0 ? -errno : 0;
}

int mounts_pick(int mount, uint64_t pass)
{
    int context =
        (int)syscall(SYS_fspick, mount, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH, 0, 0, pass);
    return context < 0 ? -errno : context;
}

int mounts_forget(int context, uint64_t pass)
{
    /* The kernel drops such names whenever options are set, be it none. */
    return reconfigure(context, pass);
}

int mounts_reconfigure(int mount, const struct mount_option *options, uint64_t pass)
{
    _cleanup_close_ int context = mounts_pick(mount, pass);
    if (context < 0)
        return context;
    int r = set_options(context, options, pass);
    return r < 0 ? r : reconfigure(context, pass);
}
