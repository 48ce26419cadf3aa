/* SPDX-License-Identifier: MIT */
#pragma once
/* What a jail makes its twin of (twin.h), and what the twin gets of it. */

#include "enclosure.h"
#include "start.h"
#include "template.h"

/* What a twin is a copy of; all borrowed from the jail. In the twin they are the twin's own. */
struct twin_parts {
    struct enclosure *enclosure;
    struct start *start;
    const struct rlimit *ceilings;
    char *strings;             /* LINK_STRINGS_MAX bytes */
    struct template *template; /* in the twin; NULL in the jail */
};
