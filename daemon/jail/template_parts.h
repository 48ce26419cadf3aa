/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of templates (template.h) pass to each other. */

#include "enclosure.h"
#include "lockdown.h"
#include "start.h"
#include "template_table.h"

#include <sys/types.h>

/* What templates are forks of; all borrowed from the jail. */
struct template_parts {
    struct enclosure *enclosure;
    struct start *start;
    int link;         /* to the supervisor */
    pid_t twin;       /* 0: there is none */
    unsigned sockets; /* of the jail beside those of templates (enclosure_check_sockets()) */
};

/* A job that is to start; all borrowed. */
struct template_job {
    const struct link_job *request;
    const struct lockdown *lockdown; /* describes its process */
    int class;                       /* what its class loads: a memfd */
    int cgroup;                      /* its control group; -1: none */
};
