/* SPDX-License-Identifier: MIT */
#pragma once
/* The interface between a jail and an interpreter that waits in it. */

#include "link.h"

#include <stdbool.h>
#include <stddef.h>

/* An interpreter in the jail's own process; a warm job is a fork of it. Everything here runs in the
 * jail's only thread. */
struct jail_interpreter {
    /* Prepares the interpreter to run scripts as `ARGV[0] ARGV[1] ... SCRIPT` would, with the
     * environment ENVP and MODULES loaded, all three of LISTS, which stays valid. The interpreter
     * must be of VERSION. Called once, in the confined jail, or in the zygote that jails are copies
     * of; there CODE is that of programs of a pair, for learn(), and otherwise -1. On failure
     * returns a negative errno and the reason in WHY (SIZE bytes); jobs are then executed. */
    int (*prepare)(const struct link_setup_lists *lists, const char *version, int code, char *why,
                   size_t size);

    /* Learns the modules in CODE (borrowed), of which only programs of a pair find anything; does
     * nothing if it has done so before. Called in the jail before a pair. If it fails, programs of
     * pairs are executed. */
    void (*learn)(int code);

    /* Called in the jail before and after it forks a job. */
    void (*before_fork)(void);
    void (*after_fork)(void);

    /* Called in the fork, which is already confined as a job, has a seekable file at its start as
     * standard input, and pipes for its output. Returns whether ARGV and ENVP would run here as
     * they would after an execve; with IS_PAIR, as a program of a pair (link.h) whose code was
     * learnt. */
    bool (*takes)(char *const *argv, char *const *envp, bool is_pair);

    /* Loads, in a template (template.h), what the jobs of a class have in common: PARTS, as link.h
     * says. ARGV and ENVP are those of all of them; IS_PAIR as for takes(). Fills *RET. */
    void (*load)(char *const *argv, char *const *envp, char *const *parts, bool is_pair,
                 struct link_loaded *ret);

    /* Runs, in a fork of the template, the script of the ARGV that load() was given; or the program
     * of a pair, or the one that comes SECOND in its place. */
    __attribute__((noreturn)) void (*run_loaded)(bool is_second);

    /* Runs ARGV, for which takes() returned true, and ends the process as the program would. */
    __attribute__((noreturn)) void (*run)(char *const *argv);
};
