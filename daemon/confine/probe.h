/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds out which layers of isolation the host grants, by starting a jail and asking it. */

#include "jailproc.h"

#include "proto/fault.h"

#define PROBE_REASON_MAX 240

struct probe {
    uint32_t layers;                                     /* bits of enum layer: layers in force */
    char missing_because[LAYER_COUNT][PROBE_REASON_MAX]; /* of the layers that are not */
    bool is_warm;                                        /* an interpreter waits in the jails */
    char cold_because[PROBE_REASON_MAX];
    struct jail_shape shape;     /* for ordinary jails, with all layers in force; owned */
    struct jail_shape networked; /* for jails of jobs that may use the network; owned */
};

#define PROBE_NULL                                             \
    {                                                          \
        .shape = JAIL_SHAPE_NULL, .networked = JAIL_SHAPE_NULL \
    }

/* Starts a jail that wants all layers but WITHOUT (bits of enum layer), and, if the host refuses
 * user namespaces, one without them. NO_CGROUPS says why the layer cgroup is not available; NULL:
 * it is. Makes DIRECTORY for the jail and removes it. Blocks until the jail has answered. Returns a
 * negative errno with FAULT if no jail can be started. The caller calls probe_deinit() in either
 * case. */
int probe_jails(struct probe *probe, const struct jailproc_config *config, uint32_t without,
                const char *no_cgroups, const char *directory, struct fault *fault);

void probe_deinit(struct probe *probe);
