/* SPDX-License-Identifier: MIT */
#pragma once
/* A jail and the job that runs in it. The fields are for jail.c and spawn.c. */

#include "enclosure.h"
#include "joined.h"
#include "kept.h"
#include "link.h"
#include "lockdown.h"
#include "looks.h"
#include "start.h"
#include "template.h"
#include "twin.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Time that a killed process tree has to die before the jail gives up on it. */
#define TREE_KILL_MS 5000

struct jail {
    int link;
    struct enclosure enclosure;
    struct rlimit ceilings[RLIM_NLIMITS];
    char *strings;            /* the current job's; LINK_STRINGS_MAX bytes */
    struct lockdown lockdown; /* the current job's */
    struct start start;
    struct twin twin;         /* there is this, */
    struct template template; /* or this, or neither */
    struct kept kept;         /* of a session, whose commands are its jobs */
};

struct jailed_job {
    uint64_t number;
    pid_t pid;
    int pidfd;
    uint64_t started_ns;
    bool warm;
    struct link_lists lists;
    struct twin_ends ends; /* of the wire, until the program has them */
    struct joined joined;
    struct looks looks;
    int collected; /* where its files are collected; -1: it has none to collect */
    uint64_t collect_max;
    bool is_command;             /* of a session */
    struct link_loaded of_class; /* what it began with, or why it did not */
};

/* How many processes of the jail's live beside it and the job: its twin or its template, and the
 * template of that twin. */
static inline unsigned jailed_others(const struct jail *jail)
{
    return (jail->template.pid > 0 || jail->twin.pid > 0) + (jail->twin.template > 0);
}

/* The child of the jail that is no part of a job: its twin or its template. */
static inline struct tree_time_except jailed_except(const struct jail *jail)
{
    return jail->template.pid > 0 ? template_except(&jail->template) : twin_except(&jail->twin);
}
