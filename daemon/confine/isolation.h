/* SPDX-License-Identifier: MIT */
#pragma once
/* Judges which layers of confinement are in force, and computes the digest of the policy. Two
 * scores are comparable if their class and digest agree. */

#include "probe.h"

#include "conf/config.h"
#include "proto/fault.h"
#include "proto/json.h"

#include <jansson.h>

struct isolation {
    uint32_t layers;    /* bits of enum layer: layers in force */
    bool is_warm;       /* interpreters wait in the jails */
    char **environment; /* owned, NULL-terminated: the environment of every job */
    json_t *summary;    /* owned: {class, layers, digest} */
    json_t *missing;    /* owned: [{layer, reason}], for status */
    char digest[65], networked_digest[65];
    /* Owned: the summary as results carry it, printed; and that of jobs that may use the
     * network. */
    struct bytes of_jobs, of_networked_jobs;
};

/* The environment of a rubric, independent of the daemon's own: four entries and a NULL. */
extern const char *const isolation_scrubbed_env[5];

/* Makes the environment of every job, NULL-terminated; the caller frees it. NULL if memory runs
 * out. */
char **isolation_environment(const struct config *config);
char **isolation_environment_free(char **environment); /* accepts NULL; returns NULL */

/* Adds to RET the host paths that every job sees beyond the system's: those of [isolation]
 * readable, and behind them those of the languages' files, each once. The list has the latter
 * whether the host has them or not, so that installing a compiler does not change the digest. 0 or
 * -ENOMEM. */
int isolation_readable(const struct config *config, struct string_list *ret);

/* Judges what PROBE has found against CONFIG and computes the digest, of which INTERPRETER_VERSION
 * is a part. -EPERM with FAULT, which names layer, cause and remedy, if a required layer is not
 * available; -EINVAL with FAULT if jobs could not see the interpreter; -ENOMEM. The caller calls
 * isolation_deinit() in any case. */
int isolation_init(struct isolation *isolation, const struct config *config,
                   const char *interpreter_version, const struct probe *probe, struct fault *fault);

/* Stores the layers that [isolation] without names as bits in *ret. -EINVAL with FAULT for a name
 * that is no layer or a layer that cannot be left out. */
int isolation_without(const struct config *config, uint32_t *ret, struct fault *fault);

void isolation_deinit(struct isolation *isolation);

/* A running `INTERPRETER -V`. */
struct version_query {
    pid_t pid;
    int output; /* owned */
    uint64_t deadline_ns;
};

/* Starts `INTERPRETER -V`, which runs while the caller does other things. A negative errno with
 * FAULT. */
int isolation_version_begin(const char *interpreter, struct version_query *ret,
                            struct fault *fault);

/* Returns the first line that the query printed, which the caller frees; NULL with FAULT on
 * failure. Blocks, until 10 seconds after the beginning at most. Nothing is left of the query. */
char *isolation_version_end(struct version_query *query, const char *interpreter,
                            struct fault *fault);
