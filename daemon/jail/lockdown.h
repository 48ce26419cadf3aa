/* SPDX-License-Identifier: MIT */
#pragma once
/* What happens in a job's process between fork and execve: the ordered list of confinement. */

#include "link.h"

#include <linux/filter.h>

struct lockdown {
    uint32_t layers; /* bits of enum layer: those that are in force */
    int cwd;         /* the private directory, becomes the working directory */
    int fds[LINK_STANDARD_FDS];
    int error_pipe;  /* close-on-exec: gets a struct lockdown_error if something fails */
    int ruleset;     /* of Landlock; -1: none */
    bool own_cgroup; /* the job is alone in its cgroup, which becomes the root of what it sees */
    const struct sock_fprog *filter;
    const struct limits *limits;
    char *const *argv; /* argv[0] is the absolute path of the program */
    char *const *envp;
};

struct lockdown_error {
    uint32_t stage; /* enum link_stage */
    int32_t error;  /* errno */
};

/* The jail's own signals, from which a job's are made: called once, before anything else. */
void lockdown_jail_signals(void);

/* Confines this process and becomes the program. Never returns; allocates and logs nothing. */
_Noreturn void lockdown_exec(const struct lockdown *lockdown);
