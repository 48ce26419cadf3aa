/* SPDX-License-Identifier: MIT */
#pragma once
/* Finding out at start which layers of isolation the host grants: by making a jail and asking it.
 */

#include "jailproc.h"

#include "proto/fault.h"

#define PROBE_REASON_MAX 200

struct probe {
    uint32_t layers;                                     /* bits of enum layer that are in force */
    char missing_because[LAYER_COUNT][PROBE_REASON_MAX]; /* of those that are not */
    bool is_warm;                                        /* an interpreter waits in it */
    char cold_because[PROBE_REASON_MAX];
    struct jail_shape shape;     /* for jails that have them all; owned */
    struct jail_shape networked; /* for jobs that may use the network; owned */
};

#define PROBE_NULL                                             \
    {                                                          \
        .shape = JAIL_SHAPE_NULL, .networked = JAIL_SHAPE_NULL \
    }

/* Starts a jail that wants all layers but WITHOUT (bits of enum layer), and, where the host refuses
 * user namespaces, one without them. NO_CGROUPS says why that layer cannot be had, NULL: it can.
 * DIRECTORY is made for it and removed. Blocks until it has answered. A negative errno with FAULT
 * if no jail can be had; probe_deinit() frees what there is either way. */
int probe_jails(struct probe *probe, const struct jailproc_config *config, uint32_t without,
                const char *no_cgroups, const char *directory, struct fault *fault);

void probe_deinit(struct probe *probe);
