/* SPDX-License-Identifier: MIT */
#pragma once
/* What happens in a job's process between fork and execve: the ordered list of confinement. */

#include "link.h"

struct lockdown {
    int directory; /* the private directory, becomes the working directory */
    int fds[LINK_JOB_FDS];
    int error_pipe; /* close-on-exec: gets a struct lockdown_error if something fails */
    const struct limits *limits;
    char **argv; /* argv[0] is the absolute path of the program */
    char **envp;
};

struct lockdown_error {
    uint32_t stage; /* enum link_stage */
    int32_t error;  /* errno */
};

/* Confines this process and becomes the program. Never returns; allocates and logs nothing. */
_Noreturn void lockdown_exec(const struct lockdown *lockdown);
