/* SPDX-License-Identifier: MIT */
#include "mounts.h"

#include "proto/util.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mount.h>

static int set_options(int context, const struct mount_option *options)
{
    for (; options && options->key; options++)
        if (fsconfig(context, options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
                     options->key, options->value, 0) < 0)
            return -errno;
    return 0;
}

int mounts_new(const char *type, const struct mount_option *options, uint64_t attributes)
{
    _cleanup_close_ int context = fsopen(type, FSOPEN_CLOEXEC);
    if (context < 0)
        return -errno;
    int r = set_options(context, options);
    if (r < 0)
        return r;
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    int mount = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attributes);
    return mount < 0 ? -errno : mount;
}

int mounts_clone(int dir, const char *path, uint64_t attributes, bool recursive)
{
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (*path ? 0 : AT_EMPTY_PATH) |
                     (recursive ? AT_RECURSIVE : 0);
    _cleanup_close_ int tree = open_tree(dir, path, flags);
    if (tree < 0)
        return -errno;
    struct mount_attr attr = {.attr_set = attributes, .propagation = MS_PRIVATE};
    if (mount_setattr(tree, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attr,
                      sizeof(attr)) < 0)
        return -errno;
    return TAKE_FD(tree);
}

int mounts_attach(int tree, int dir, const char *path)
{
    return move_mount(tree, "", dir, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

int mounts_reconfigure(int mount, const struct mount_option *options)
{
    _cleanup_close_ int context = fspick(mount, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
    if (context < 0)
        return -errno;
    int r = set_options(context, options);
    if (r < 0)
        return r;
    return fsconfig(context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0 ? -errno : 0;
}
