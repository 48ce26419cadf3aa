/* SPDX-License-Identifier: MIT */
#pragma once
/* A configuration with all that follows from it, immutable and reference-counted. The daemon holds
 * the settings in force, and each job those of its submission: a reload changes neither the rules
 * of an admitted job nor what its answer says of them. */

#include "conf/config.h"
#include "daemon/confine/confinement.h"
#include "daemon/confine/isolation.h"
#include "daemon/kinds/kind.h"
#include "daemon/languages/languages.h"
#include "proto/request.h"

struct settings {
    unsigned references;
    uint64_t generation; /* 1 at the start; each reload adds 1 */
    uint64_t made_ns;
    struct config config;
    unsigned slots;       /* never 0 */
    unsigned sessions;    /* that may be open at once */
    unsigned connections; /* at once; never 0 */
    struct confinement *confinement;
    struct isolation isolation;
    struct languages *languages; /* of config.languages, owned */
    struct request_policy policy;
    int checker;             /* code_exec_checker(), owned */
    struct digests *digests; /* borrowed; may be NULL */
    struct kind_host kind_host;
    json_t *hello_limits;
    json_t *hello_interpreter; /* {path, version} */
};

/* The inputs of settings besides the configuration. */
struct settings_host {
    int jail_program;       /* rubricd-jail, open; borrowed for the life of the settings */
    int warm_program;       /* rubricd-jail-warm likewise; a negative errno: not available */
    const char *no_cgroups; /* why there are no control groups; NULL: there are some */
    bool bounds_memory;     /* control groups bound the memory of jobs */
    bool is_private;        /* one client is served */
    struct digests
        *digests; /* of rubrics' directories, for the life of the settings; may be NULL */
};

/* How many files the process may have open. */
uint64_t settings_open_files(void);

/* Makes settings of CONFIG and takes what it holds, also on failure. Asks the interpreter for its
 * version and starts a jail to find out what the host grants, unless CONFINEMENT knows that already
 * (NULL: it does not). Blocks meanwhile. The caller gets the only reference. A negative errno with
 * FAULT: the host cannot give what is configured. */
int settings_new(struct config *config, const struct settings_host *host, uint64_t generation,
                 struct confinement *confinement, struct settings **ret, struct fault *fault);

struct settings *settings_ref(struct settings *settings);

/* Drops a reference; accepts NULL and returns NULL. */
struct settings *settings_unref(struct settings *settings);
