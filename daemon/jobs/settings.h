/* SPDX-License-Identifier: MIT */
#pragma once
/* A configuration with all that follows from it. Immutable and counted: the daemon keeps what is in
 * force, each job what was when it was submitted, so that a reload never changes the rules for a
 * job that has been admitted, or what its answer says of them. */

#include "conf/config.h"
#include "daemon/confine/confinement.h"
#include "daemon/confine/isolation.h"
#include "daemon/kinds/kind.h"
#include "proto/request.h"

struct settings {
    unsigned references;
    uint64_t generation; /* 1 at the start, and one more with each reload */
    uint64_t made_ns;
    struct config config;
    unsigned slots; /* never 0 */
    struct confinement *confinement;
    struct isolation isolation;
    struct request_policy policy;
    struct kind_host kind_host;
    json_t *hello_limits;
    json_t *hello_interpreter; /* {path, version} */
};

/* What the daemon has to make settings of. */
struct settings_host {
    int jail_program;       /* rubricd-jail, open; borrowed for as long as there are settings */
    int warm_program;       /* rubricd-jail-warm likewise; a negative errno: it is not there */
    const char *no_cgroups; /* why there are no control groups; NULL: there are */
};

/* Takes what CONFIG holds, also on failure, and finds out what follows from it: asks the
 * interpreter for its version, and lets a jail show what the host grants, unless CONFINEMENT (NULL:
 * none) tells that already. Blocks for that long. The caller has the only reference. A negative
 * errno with FAULT: the host cannot give what is configured. */
int settings_new(struct config *config, const struct settings_host *host, uint64_t generation,
                 struct confinement *confinement, struct settings **ret, struct fault *fault);

struct settings *settings_ref(struct settings *settings);

/* Gives a reference back; accepts NULL and returns NULL. */
struct settings *settings_unref(struct settings *settings);
