/* SPDX-License-Identifier: MIT */
#pragma once
/* What the jail makes a template of (template.h), and what the template gets of it. */

#include "enclosure.h"
#include "lockdown.h"
#include "start.h"
#include "work.h"

/* What a template is made of; all borrowed. */
struct template_parts {
    const struct enclosure *enclosure;
    const struct start *start;       /* with an interpreter */
    const struct lockdown *lockdown; /* of a job of the class, but for its descriptors */
    char *const *class_parts;        /* its key and what to load, as link.h says */
    bool is_pair;            /* its jobs are the programs of a pair in the candidate's place */
    const struct work *work; /* which is empty */
    uint64_t memory_bytes;   /* memory that all its processes may take while it loads */
    uint64_t bytes_max;      /* and that it may keep */
    unsigned load_ms;        /* time that it has to load everything */
};
