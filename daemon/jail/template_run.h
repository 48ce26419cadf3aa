/* SPDX-License-Identifier: MIT */
#pragma once
/* What a template does: it loads its class, and forks jobs of it. */

#include "lockdown.h"
#include "start.h"

/* The descriptors of a template. All but the last stay open. */
enum {
    TEMPLATE_INPUT,
    TEMPLATE_OUTPUT,
    TEMPLATE_ERRORS,
    TEMPLATE_LINK,
    TEMPLATE_FDS,
    TEMPLATE_CLASS = TEMPLATE_FDS,
    TEMPLATE_FIRST_FDS,
};

/* First word of what a template, or its fork, tells over its link. The jail takes it for a hint
 * that something has happened, and looks at what. */
enum template_word {
    TEMPLATE_READY,  /* it has loaded */
    TEMPLATE_FAILED, /* it cannot: a text says why */
    TEMPLATE_FORKED, /* it has forked, or failed to */
    TEMPLATE_BEGINS, /* the fork: the script runs when the jail says so */
    TEMPLATE_LEAVES, /* the fork: the script must be started in another way */
};

struct template_says {
    uint32_t word;
    char because[LINK_BECAUSE_MAX]; /* TEMPLATE_FAILED, TEMPLATE_LEAVES */
};

/* Turns this fork of the jail into the template of a class, confined as LOCKDOWN says, whose
 * descriptors are those of TEMPLATE_FIRST_FDS. It forks the job that ARGV and ENVP of LOCKDOWN
 * start. */
_Noreturn void template_live(const struct start *start, const struct lockdown *lockdown,
                             int landlock_version);
