/* SPDX-License-Identifier: MIT */
#pragma once
/* The room daemon/confine. Duty: find out what the host grants, decide from that and the
 * configuration how jails are confined, start jails accordingly, and compute the digest that
 * identifies the policy.
 *
 * confinement.h: what the jails of one configuration share. probe.h: which layers the host grants.
 * isolation.h: whether that satisfies the configuration, and the digest. filter.h: the seccomp
 * filter. jailproc.h: starting one jail. zygote.h: the process that jails are copies of.
 *
 * May include: conf, proto, daemon/base, and from daemon/jail the headers that describe layers,
 * link, mounts and the pass, and cgroup_fork.h, with which it starts jails. It knows nothing of
 * jobs, clients or slots.
 *
 * Invariants:
 *  - A confinement is immutable and reference-counted. Settings hold a reference for their jobs and
 *    a slot holds one for its jail, so a job ends under the confinement under which it started,
 *    whatever is configured meanwhile.
 *  - A layer in force is one that a jail has set up and said so; nothing is assumed of the host.
 *  - Any change to the confinement of jobs changes the digest (POLICY_REVISION in isolation.c).
 *  - Nothing is allocated or logged between fork and execve (jailproc.c). */

#include "probe.h"
#include "zygote.h"

#include "conf/config.h"
#include "proto/fault.h"

struct confinement {
    unsigned references;
    struct jailproc_config jail;  /* with an interpreter, if one can wait; points to the fields
                                     below */
    struct jailproc_config plain; /* without one */
    bool is_lazy; /* no interpreter is started before a job wants one; until then the daemon assumes
                     that one can wait */
    struct zygote *zygote; /* of which jails with an interpreter are copies; NULL: they are
                              executed. What it does for jails is no part of what they share */
    struct string_list readable;
    struct string_list interpreter, modules;
    char **environment;
    char *version;
    char *idmap; /* see jailproc.h; owned */
    int code;    /* owned */
    struct probe probe;
};

/* The host's resources for jails, borrowed for as long as a reference to the confinement exists. */
struct confinement_host {
    int jail_program; /* rubricd-jail, open */
    int warm_program; /* rubricd-jail-warm, open; a negative errno if it could not be opened */
    int code; /* what programs of a pair run (jail/link.h), open; borrowed for the call alone */
    const char *no_cgroups; /* why there are no control groups; NULL if there are */
    bool bounds_memory;     /* control groups bound the memory of jobs */
    bool is_private;        /* one client is served, and whether its jobs use an interpreter will
                               be seen */
};

/* Finds out by a jail in DIRECTORY what HOST grants (probe_jails()) and makes a confinement of it,
 * without an interpreter, to which the caller gets the only reference. -ENOMEM, -EINVAL or the
 * error of probe_jails(), with FAULT. */
int confinement_new(const struct config *config, const struct confinement_host *host,
                    const char *directory, struct confinement **ret, struct fault *fault);

/* Adds to a new confinement, which no jail has yet, an interpreter that waits in its jails, if that
 * is wanted and works; says why not otherwise. The interpreter must be of VERSION. Errors as
 * confinement_new(). */
int confinement_warm_up(struct confinement *confinement, const struct config *config,
                        const struct confinement_host *host, const char *version,
                        const char *directory, struct fault *fault);

/* Takes another reference and returns its argument. */
struct confinement *confinement_ref(struct confinement *confinement);

/* Drops a reference; the last one frees. Accepts NULL and returns NULL. */
struct confinement *confinement_unref(struct confinement *confinement);

/* Replaces the reference at *AT, which may be NULL, by a new one to CONFINEMENT. */
void confinement_replace(struct confinement **at, struct confinement *confinement);

/* What a slot wants of its jail. */
struct jail_wish {
    bool networked; /* it may use the host's network */
    bool warm; /* an interpreter waits in it, if one can wait in the jails of its confinement */
};

/* Starts a jail for the slot INDEX in WORK_DIRECTORY/slot-INDEX. Errors as jailproc_spawn(), and
 * -ENAMETOOLONG; -EINPROGRESS if it takes a process that is still starting: sweep and try again in
 * a while. */
int confinement_spawn(const struct confinement *confinement, const struct jail_wish *wish,
                      const char *work_directory, unsigned index, struct jailproc *ret);

/* Whether processes may be left of a jail that is dead and reaped: those of its jobs, without a
 * pid namespace; or jails of a zygote that died before it could tell of them. */
bool confinement_leaves_orphans(const struct confinement *confinement);

/* Returns whether LAYER is in force in its jails. */
static inline bool confinement_has(const struct confinement *confinement, enum layer layer)
{
    return layer_in(confinement->probe.layers, layer);
}

/* Returns why no interpreter waits in its jails, "" if one does; borrowed. */
static inline const char *confinement_cold_because(const struct confinement *confinement)
{
    return confinement->probe.cold_because;
}

/* Whether a jail for which no job has asked is to have an interpreter. */
static inline bool confinement_is_eager(const struct confinement *confinement)
{
    return !confinement->is_lazy;
}

/* Returns the pid of its zygote, 0 if it has none. */
static inline pid_t confinement_zygote(const struct confinement *confinement)
{
    return confinement->zygote ? zygote_pid(confinement->zygote) : 0;
}

/* Returns why jails with an interpreter are executed although they could be copies of a zygote:
 * once each time that becomes so, NULL otherwise. Borrowed. */
static inline const char *confinement_take_reason(const struct confinement *confinement)
{
    return confinement->zygote ? zygote_take_reason(confinement->zygote) : NULL;
}

/* Returns the shape of its jails, or of those for jobs that may use the network; borrowed. */
const struct jail_shape *confinement_shape(const struct confinement *confinement, bool networked);
