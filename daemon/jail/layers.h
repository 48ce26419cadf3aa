/* SPDX-License-Identifier: MIT */
#pragma once
/* The layers of confinement and their names. `network` and `filesystem` say what holds; the
 * namespaces, landlock and seccomp say by which means. Where one means is missing, another may
 * provide the same. */

#include <stdbool.h>
#include <stdint.h>

enum layer {
    LAYER_ENV,     /* a scrubbed environment */
    LAYER_TEMPDIR, /* a fresh private directory per job */
    LAYER_RLIMITS,
    LAYER_NO_NEW_PRIVS,
    LAYER_TREE_KILL, /* nothing outlives its job */
    LAYER_USER_NAMESPACE,
    LAYER_PID_NAMESPACE,
    LAYER_MOUNT_NAMESPACE, /* its own view of the file system */
    LAYER_NET_NAMESPACE,
    LAYER_NETWORK,    /* jobs cannot reach the network */
    LAYER_FILESYSTEM, /* jobs cannot reach files other than those meant for them */
    LAYER_LANDLOCK,
    LAYER_SECCOMP,
    LAYER_CGROUP,
    LAYER_OWN_UID, /* jobs of a slot have a kernel uid that nothing else has (idmap.h) */
    LAYER_COUNT,
};

#define LAYER_BIT(layer) (UINT32_C(1) << (layer))
#define LAYERS_ALL (LAYER_BIT(LAYER_COUNT) - 1)

/* Returns the name of LAYER, e.g. "user_namespace"; "" if there is no such layer. */
const char *layer_name(enum layer layer);

/* Returns the layer called NAME, or LAYER_COUNT. */
enum layer layer_from_name(const char *name);

/* Returns whether SET, bits of layers, includes LAYER. */
static inline bool layer_in(uint32_t set, enum layer layer)
{
    return set & LAYER_BIT(layer);
}

/* Returns WANTED without the layers that depend on one that WANTED lacks: pid, mount and network
 * namespaces without a user namespace; network and filesystem without any means; and so on. */
uint32_t layers_consistent(uint32_t wanted);
