/* SPDX-License-Identifier: MIT */
#pragma once
/* Mounts by descriptor (open_tree(2) and related calls). A mount is made detached, configured,
 * and then attached, so that no half-made mount is ever visible. A detached mount disappears
 * with its descriptor. All functions need CAP_SYS_ADMIN over the mount namespace. PASS is the
 * number that takes the jail's calls through the filter that it shares with its jobs
 * (daemon/confine/filter.h). */

#include <stdbool.h>
#include <stdint.h>

/* For calls made before the filter is installed. */
#define MOUNTS_NO_PASS 0

struct mount_option {
    const char *key, *value; /* value NULL: the option is a flag */
};

/* Makes a new file system of TYPE, e.g. "tmpfs", attached nowhere. OPTIONS end with a NULL key;
 * ATTRIBUTES are MOUNT_ATTR_*. The caller owns the descriptor. */
int mounts_new(const char *type, const struct mount_option *options, uint64_t attributes,
               uint64_t pass);

/* Clones the mount at PATH beneath DIR (an empty PATH: DIR itself) and adds ATTRIBUTES; later
 * mounts elsewhere do not propagate into the clone. RECURSIVE includes the mounts beneath it.
 * Without it the clone reveals what those mounts hide; if the kernel does not allow that, the call
 * fails with -EINVAL. The caller owns the descriptor. */
int mounts_clone(int dir, const char *path, uint64_t attributes, bool recursive, uint64_t pass);

/* Attaches TREE at PATH beneath DIR. */
int mounts_attach(int tree, int dir, const char *path, uint64_t pass);

/* Detaches the topmost mount at PATH, even while it is in use. */
int mounts_detach(const char *path, uint64_t pass);

/* Moves the calling process into the mount namespace that FD refers to. */
int mounts_enter(int fd, uint64_t pass);

/* Opens the file system of MOUNT, attached or not, for mounts_forget(). The caller owns the
 * descriptor. */
int mounts_pick(int mount, uint64_t pass);

/* Has the kernel forget the names that nobody uses in a file system. CONTEXT is of mounts_pick(),
 * and may be used again. */
int mounts_forget(int context, uint64_t pass);

/* Changes the options of the file system of MOUNT, attached or not. */
int mounts_reconfigure(int mount, const struct mount_option *options, uint64_t pass);
