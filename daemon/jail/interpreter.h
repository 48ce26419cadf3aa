/* SPDX-License-Identifier: MIT */
#pragma once
/* What a jail knows of an interpreter that waits in it. */

#include "link.h"

#include <stdbool.h>
#include <stddef.h>

/* An interpreter in the jail's own process, of which a job is a fork. All of it runs in the jail's
 * only thread. */
struct jail_interpreter {
    /* Makes it ready to run what `ARGV[0] ARGV[1] ... SCRIPT` would, with ENVP and with MODULES
     * loaded, all of LISTS, which stays, if it is of that VERSION. Called once, in the confined
     * jail. A negative errno with WHY (SIZE bytes) if it cannot: then jobs are executed. */
    int (*prepare)(const struct link_setup_lists *lists, const char *version, char *why,
                   size_t size);

    /* Around the fork of a job, in the jail. */
    void (*before_fork)(void);
    void (*after_fork)(void);

    /* In the fork, which is confined as a job is, with a file for its standard input that is read
     * from its start, and pipes for its output: whether ARGV and ENVP would run in it as they do
     * when they are executed. */
    bool (*takes)(char *const *argv, char *const *envp);

    /* Runs ARGV, which it takes, and ends the process as the program ends. */
    __attribute__((noreturn)) void (*run)(char *const *argv);
};
