/* SPDX-License-Identifier: MIT */
#include "layers.h"

#include <string.h>

static const char *const names[LAYER_COUNT] = {
    [LAYER_ENV] = "env",
    [LAYER_TEMPDIR] = "tempdir",
    [LAYER_RLIMITS] = "rlimits",
    [LAYER_NO_NEW_PRIVS] = "no_new_privs",
    [LAYER_TREE_KILL] = "tree_kill",
    [LAYER_USER_NAMESPACE] = "user_namespace",
    [LAYER_PID_NAMESPACE] = "pid_namespace",
    [LAYER_MOUNT_NAMESPACE] = "mount_namespace",
    [LAYER_NET_NAMESPACE] = "net_namespace",
    [LAYER_NETWORK] = "network",
    [LAYER_FILESYSTEM] = "filesystem",
    [LAYER_LANDLOCK] = "landlock",
    [LAYER_SECCOMP] = "seccomp",
    [LAYER_CGROUP] = "cgroup",
    [LAYER_OWN_UID] = "own_uid",
};

const char *layer_name(enum layer layer)
{
    return layer < LAYER_COUNT ? names[layer] : "";
}

enum layer layer_from_name(const char *name)
{
    enum layer layer = 0;
    while (layer < LAYER_COUNT && strcmp(name, names[layer]) != 0)
        layer++;
    return layer;
}

uint32_t layers_consistent(uint32_t set)
{
    const uint32_t needs_user = LAYER_BIT(LAYER_PID_NAMESPACE) | LAYER_BIT(LAYER_MOUNT_NAMESPACE) |
                                LAYER_BIT(LAYER_NET_NAMESPACE);
    if (!layer_in(set, LAYER_USER_NAMESPACE))
        set &= ~needs_user;
    /* Without capabilities over a user namespace, Landlock and seccomp both demand no_new_privs. */
    if (!layer_in(set, LAYER_NO_NEW_PRIVS) && !layer_in(set, LAYER_USER_NAMESPACE))
        set &= ~(LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_SECCOMP));
    /* Drop a property that has no means left, and drop the means that only serve a dropped
     * property. */
    if (!layer_in(set, LAYER_FILESYSTEM))
        set &= ~LAYER_BIT(LAYER_MOUNT_NAMESPACE);
    if (!layer_in(set, LAYER_MOUNT_NAMESPACE) && !layer_in(set, LAYER_LANDLOCK))
        set &= ~LAYER_BIT(LAYER_FILESYSTEM);
    if (!layer_in(set, LAYER_NETWORK))
        set &= ~LAYER_BIT(LAYER_NET_NAMESPACE);
    if (!layer_in(set, LAYER_NET_NAMESPACE) && !layer_in(set, LAYER_SECCOMP))
        set &= ~LAYER_BIT(LAYER_NETWORK);
    /* Without a view, jobs work in a directory of the host, which belongs to the daemon. */
    if (!layer_in(set, LAYER_MOUNT_NAMESPACE))
        set &= ~LAYER_BIT(LAYER_OWN_UID);
    return set;
}
