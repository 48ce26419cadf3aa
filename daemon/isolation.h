/* SPDX-License-Identifier: MIT */
#pragma once
/* Which layers of confinement are in force, and the digest of the policy: two scores are comparable
 * when class and digest agree (contract, section 3). */

#include "conf/config.h"
#include "proto/fault.h"

#include <jansson.h>
#include <stdbool.h>

enum layer {
    LAYER_ENV,     /* the scrubbed environment */
    LAYER_TEMPDIR, /* a fresh private directory per job */
    LAYER_RLIMITS,
    LAYER_NO_NEW_PRIVS,
    LAYER_TREE_KILL, /* nothing outlives its job */
    /* Known by name, and not to be had in this version. */
    LAYER_USER_NAMESPACE,
    LAYER_PID_NAMESPACE,
    LAYER_NETWORK,
    LAYER_FILESYSTEM,
    LAYER_LANDLOCK,
    LAYER_SECCOMP,
    LAYER_CGROUP,
    LAYER_COUNT,
};

struct isolation {
    bool in_force[LAYER_COUNT];
    const char *missing_because[LAYER_COUNT]; /* where not in force */
    char **environment;                       /* owned, NULL-terminated: what every rubric gets */
    json_t *summary; /* owned: {class, layers, digest}, as replies carry it */
    json_t *missing; /* owned: [{layer, reason}], for status */
};

/* The environment of a rubric, whatever the daemon was started with: four entries and a NULL. */
extern const char *const isolation_scrubbed_env[5];

/* Probes the layers and computes the digest. INTERPRETER_VERSION is part of it. -EPERM with FAULT
 * naming layer, cause and remedy if a layer that the configuration requires cannot be had. */
int isolation_init(struct isolation *isolation, const struct config *config,
                   const char *interpreter_version, struct fault *fault);

void isolation_deinit(struct isolation *isolation);

/* Runs `INTERPRETER -V` and returns its first line, to be freed; NULL with FAULT. Blocks. */
char *isolation_interpreter_version(const char *interpreter, struct fault *fault);
