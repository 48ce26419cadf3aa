/* SPDX-License-Identifier: MIT */
#pragma once
/* For attacks that are also the job beside the one that attacks. Such a job begins when it is told
 * to: the supervisor must not lack what it needs to start the job. */
#include "attack.h"

/* Makes the file NAME, with SUFFIX. */
static inline void make(const char *name, const char *suffix)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s%s", name, suffix);
    if (open(path, O_WRONLY | O_CREAT, 0600) < 0)
        unclear("open %s: %s", path, errno_name(errno));
}

/* Says by a file that it waits, and returns when it gets SIGUSR1. */
static inline void await_go(const char *name)
{
    sigset_t go;
    int got;
    (void)sigemptyset(&go);
    (void)sigaddset(&go, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &go, NULL);
    make(name, "-waits");
    (void)sigwait(&go, &got);
}
