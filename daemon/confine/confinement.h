/* SPDX-License-Identifier: MIT */
#pragma once
/* How jails are confined under one configuration: what the host grants, as a jail has shown, and
 * what all of them have in common. Immutable and counted: settings keep that of their jobs, a slot
 * that of its jail, so that a job ends in the confinement in which it was started, whatever is
 * configured meanwhile. */

#include "probe.h"

#include "conf/config.h"
#include "proto/fault.h"

struct confinement {
    unsigned references;
    struct jailproc_config jail; /* its paths are those below */
    struct string_list readable;
    struct string_list interpreter, modules;
    char **environment;
    char *version;
    struct probe probe;
};

/* What jails are made of; all of it is borrowed for as long as there is a reference, but for the
 * version. */
struct confinement_host {
    int jail_program;        /* rubricd-jail, open */
    int warm_program;        /* rubricd-jail-warm, open; a negative errno: it is not there */
    const char *no_cgroups;  /* why there are no control groups; NULL: there are */
    const char *interpreter; /* its version, as the interpreter tells */
};

/* Lets a jail show what HOST grants, as probe_jails() does, which DIRECTORY is for. The caller has
 * the only reference. -ENOMEM, -EINVAL or what probe_jails() returns, with FAULT. */
int confinement_new(const struct config *config, const struct confinement_host *host,
                    const char *directory, struct confinement **ret, struct fault *fault);

struct confinement *confinement_ref(struct confinement *confinement);

/* Gives a reference back; accepts NULL and returns NULL. */
struct confinement *confinement_unref(struct confinement *confinement);

/* Replaces the reference at *AT, if there is one, by one of CONFINEMENT. */
void confinement_replace(struct confinement **at, struct confinement *confinement);

/* Starts a jail for the slot INDEX, in WORK_DIRECTORY/slot-INDEX, as jailproc_spawn() does. */
int confinement_spawn(const struct confinement *confinement, bool networked,
                      const char *work_directory, unsigned index, struct jailproc *ret);

/* The shape of its jails, or of those for jobs that may use the network. */
const struct jail_shape *confinement_shape(const struct confinement *confinement, bool networked);
