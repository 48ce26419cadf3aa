/* SPDX-License-Identifier: MIT */
#pragma once
/* Mounts by descriptor (open_tree(2) and its kin): made detached, configured, then attached, so
 * that nothing half made is ever seen. A mount that is attached nowhere is gone with its
 * descriptor. All need CAP_SYS_ADMIN over the mount namespace, and PASS: the number that lets the
 * jail's calls through the filter that it shares with its jobs (daemon/confine/filter.h). */

#include <stdbool.h>
#include <stdint.h>

/* Before there is a filter. */
#define MOUNTS_NO_PASS 0

struct mount_option {
    const char *key, *value; /* value NULL: a flag */
};

/* A new file system of TYPE, e.g. "tmpfs", attached nowhere; OPTIONS end with a NULL key,
 * ATTRIBUTES are MOUNT_ATTR_*. The descriptor is the caller's. No pass lets this through. */
int mounts_new(const char *type, const struct mount_option *options, uint64_t attributes);

/* A copy of what is at PATH beneath DIR (an empty PATH: of DIR itself) with ATTRIBUTES added, cut
 * off from what is mounted elsewhere later. What is mounted beneath it comes along if RECURSIVE; if
 * not, and there is something that must not be uncovered, the answer is -EINVAL. */
int mounts_clone(int dir, const char *path, uint64_t attributes, bool recursive, uint64_t pass);

/* Attaches TREE at PATH beneath DIR. */
int mounts_attach(int tree, int dir, const char *path, uint64_t pass);

/* Takes what was attached last at PATH away, also while it is in use. */
int mounts_detach(const char *path, uint64_t pass);

/* Moves the calling process to the mount namespace FD stands for. */
int mounts_enter(int fd, uint64_t pass);

/* Gives an attached or detached tmpfs new options. */
int mounts_reconfigure(int mount, const struct mount_option *options, uint64_t pass);
