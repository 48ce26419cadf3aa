/* SPDX-License-Identifier: MIT */
#pragma once
/* What a jail does once, so that its jobs cost no more than a fork: user namespace, network, view,
 * work directory, the Landlock ruleset and the seccomp program. Each means that cannot be had is
 * left out and told; the supervisor decides whether that will do. */

#include "link.h"
#include "view.h"
#include "work.h"

#include <limits.h>
#include <linux/filter.h>

#define FILTER_MAX 4096

struct enclosure {
    uint32_t layers; /* bits of enum layer that are in force */
    struct view view;
    struct work work;
    int landlock_version;
    int ruleset;           /* for all jobs; -1: none, or each job has its own */
    uint64_t pass;         /* see mounts.h */
    bool gives_up_pass;    /* jobs have to: one could learn it, and it would be of use (pass.h) */
    char *const *readable; /* host paths that every job may read; borrowed */

    /* What the view shows at VIEW_BENCH; an empty path: nothing. */
    char bench[PATH_MAX];
    uint64_t bench_device, bench_inode;
};

/* Confines the calling process, which the supervisor has put into the namespaces that SETUP names.
 * SLOT_DIRECTORY is the slot's place on the host. FILTER is borrowed, -1: none. NOTICE gets what is
 * in force and what is not. A negative errno, with *ret_step saying what failed, if no job can be
 * run like this. */
int confine(struct enclosure *confinement, const struct link_setup *setup, char *const *readable,
            const char *slot_directory, int filter, struct link_notice *notice,
            const char **ret_step);

/* Shows a job its bench, and nothing of another's, and what it may read besides. On failure
 * *ret_stage tells with what. */
int confine_show(struct enclosure *confinement, const struct link_job *job,
                 const struct link_lists *lists, enum link_stage *ret_stage);

/* Takes away what it may read besides. The bench stays for the next job. */
int confine_hide(struct enclosure *confinement, const struct link_lists *lists);

/* Where each job needs a ruleset of its own it is made, and the caller's; else *ret_own is left
 * alone and that of the confinement serves. */
int confine_ruleset(const struct enclosure *confinement, const struct link_lists *lists, int cwd,
                    int *ret_own);
