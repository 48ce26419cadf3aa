/* SPDX-License-Identifier: MIT */
#pragma once
/* Starting a jail process. */

#include <sys/types.h>

struct jailproc {
    pid_t pid;
    int pidfd;
    int link_fd; /* our end of the socketpair, non-blocking */
};

/* Starts the program at JAIL_PATH for DIRECTORY, with an empty environment, its end of the link at
 * LINK_FD, stderr shared and nothing else. The descriptors in *ret are the caller's. */
int jailproc_spawn(const char *jail_path, const char *directory, struct jailproc *ret);
