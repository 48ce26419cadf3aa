/* SPDX-License-Identifier: MIT */
#pragma once
/* The layers of confinement by their names. `network` and `filesystem` tell what holds, the
 * namespaces, landlock and seccomp by which means: where one means is missing another may do. */

#include <stdbool.h>
#include <stdint.h>

enum layer {
    LAYER_ENV,     /* the scrubbed environment */
    LAYER_TEMPDIR, /* a fresh private directory per job */
    LAYER_RLIMITS,
    LAYER_NO_NEW_PRIVS,
    LAYER_TREE_KILL, /* nothing outlives its job */
    LAYER_USER_NAMESPACE,
    LAYER_PID_NAMESPACE,
    LAYER_MOUNT_NAMESPACE, /* a view of its own of the file system */
    LAYER_NET_NAMESPACE,
    LAYER_NETWORK,    /* nothing of the network can be reached */
    LAYER_FILESYSTEM, /* no file but those meant for jobs can be reached */
    LAYER_LANDLOCK,
    LAYER_SECCOMP,
    LAYER_CGROUP,
    LAYER_COUNT,
};

#define LAYER_BIT(layer) (UINT32_C(1) << (layer))
#define LAYERS_ALL (LAYER_BIT(LAYER_COUNT) - 1)

/* "user_namespace" and so on. */
const char *layer_name(enum layer layer);

/* The layer called NAME, or LAYER_COUNT. */
enum layer layer_from_name(const char *name);

/* Whether SET, bits of layers, has LAYER. */
static inline bool layer_in(uint32_t set, enum layer layer)
{
    return set & LAYER_BIT(layer);
}

/* WANTED without what is not to be had without a layer that is left out of it: the namespaces
 * without the user namespace, network and filesystem without any means, ... */
uint32_t layers_consistent(uint32_t wanted);
