/* SPDX-License-Identifier: MIT */
#pragma once
/* Which layers of confinement are in force, and the digest of the policy: two scores are comparable
 * when class and digest agree. */

#include "probe.h"

#include "conf/config.h"
#include "proto/fault.h"
#include "proto/json.h"

#include <jansson.h>

struct isolation {
    uint32_t layers;    /* bits of enum layer that are in force */
    bool is_warm;       /* interpreters wait in the jails */
    char **environment; /* owned, NULL-terminated: what every job gets */
    json_t *summary;    /* owned: {class, layers, digest} */
    json_t *missing;    /* owned: [{layer, reason}], for status */
    char digest[65], networked_digest[65];
    /* Owned: the summary printed, as results carry it, and that of jobs that may use the network.
     */
    struct bytes of_jobs, of_networked_jobs;
};

/* The environment of a rubric, whatever the daemon was started with: four entries and a NULL. */
extern const char *const isolation_scrubbed_env[5];

/* The entries of what every job gets and a NULL, to be freed; NULL when memory runs out. */
char **isolation_environment(const struct config *config);
char **isolation_environment_free(char **environment); /* returns NULL */

/* Judges what PROBE has found and computes the digest. INTERPRETER_VERSION is part of it. -EPERM
 * with FAULT naming layer, cause and remedy if a layer that the configuration requires cannot be
 * had. */
int isolation_init(struct isolation *isolation, const struct config *config,
                   const char *interpreter_version, const struct probe *probe, struct fault *fault);

/* The layers that [isolation] without names, as bits; -EINVAL with FAULT for one that there is not
 * or that cannot be left out. */
int isolation_without(const struct config *config, uint32_t *ret, struct fault *fault);

void isolation_deinit(struct isolation *isolation);

/* Runs `INTERPRETER -V` and returns its first line, to be freed; NULL with FAULT. Blocks. */
char *isolation_interpreter_version(const char *interpreter, struct fault *fault);
