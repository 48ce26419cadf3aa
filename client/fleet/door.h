/* SPDX-License-Identifier: MIT */
#pragma once
/* Lets a command of rubricctl work with a fleet instead of a daemon: a child process with a front
 * (front.h) is at the other end of its session. The command itself has no threads, and none of the
 * NATS library's. */

#include "options.h"

/* Which run the jobs are of. */
struct door_options {
    const char *run; /* NULL: a new one */
    long ack_wait;   /* seconds; 0: the default */
    bool mix;
    bool host_benches;
};

enum { DOOR_SPECS = 4 };
extern const struct option_spec door_specs[DOOR_SPECS];

/* Returns COMMAND, whose engine runs jobs, with the options above behind its own. */
struct command door_command(const struct command *command);

/* Runs COMMAND with a fleet behind its session. OPTIONS is the struct of what door_command() made
 * of it. */
enum exit_status door_run(const struct command *command, const struct globals *globals,
                          const void *options, const struct text_list *arguments);
