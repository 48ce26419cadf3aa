/* SPDX-License-Identifier: MIT */
#pragma once
/* Classes of jobs, as the pool knows them: what a slot's jail has loaded, and which classes could
 * not be loaded lately (jail/template.h). Pure.
 *
 * May include: launch, the jail's link, base/clock.h and proto/util.h. */

#include "launch.h"

#include "daemon/jail/link.h"

#include <stddef.h>
#include <stdint.h>

_Static_assert(LAUNCH_CLASS_KEY_SIZE == LINK_CLASS_KEY_SIZE, "keys of launches and of jails");

/* The class of a job, or that of which a jail has a template. */
struct slot_class {
    char key[LAUNCH_CLASS_KEY_SIZE]; /* empty: none */
    uint64_t affinity;               /* as that of a queue's entry; 0: none */
    uint64_t bytes;                  /* memory that the template takes, or may take */
};

/* The class of a launch. */
struct slot_class slot_class_of(const struct launch_class *class);

/* What the jail with MARK has of templates once it begins with a job of class JOB: it ends a
 * template of another class, and makes its own. */
void slot_class_begin(struct slot_class *mark, const struct slot_class *job);

/* The same when the job has ended, and the jail has told LOADED. */
void slot_class_end(struct slot_class *mark, const struct link_loaded *loaded);

/* Memory that the template of the jail with MARK takes, or may take once a job of class JOB has
 * begun there. */
uint64_t slot_class_most(const struct slot_class *mark, const struct slot_class *job);

/* A class that could not be loaded for a reason of its own (EINVAL or ENOSPC of struct link_loaded)
 * is not tried again for this long: to try costs every job of it as much as it would save. */
#define CLASS_FAILURE_MS UINT64_C(60000)
#define CLASS_FAILURES_MAX 64

struct class_failures {
    struct {
        char key[LAUNCH_CLASS_KEY_SIZE]; /* empty: none */
        char why[LINK_WHY_SIZE];
        uint64_t until_ns; /* CLOCK_MONOTONIC */
    } of[CLASS_FAILURES_MAX];
    size_t next; /* is overwritten next */
};

/* Why the class KEY is not to be loaded at NOW_NS; borrowed. NULL: nothing is known against it. */
const char *class_failures_find(const struct class_failures *failures, const char *key,
                                uint64_t now_ns);

/* Notes at NOW_NS that the class KEY could not be loaded, if LOADED says so of the class itself. */
void class_failures_note(struct class_failures *failures, const char *key,
                         const struct link_loaded *loaded, uint64_t now_ns);
