/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/cli/help.h"
#include "proto/util.h"

static const struct command *const commands[] = {
    &command_run,        &command_batch,        &command_sandbox, &command_run_program,
    &command_grade,      &command_replay,       &command_report,  &command_passk,
    &command_new_rubric, &command_check_rubric, &command_status,  &command_metrics,
    &command_ping,       &command_cancel,       &command_drain,   &command_reload,
    &command_fleet,
};

_Static_assert(ARRAY_SIZE(commands) <= PROGRAM_COMMANDS_MAX, "PROGRAM_COMMANDS_MAX is too small");

const struct program rubricctl_program = {
    .name = "rubricctl",
    .options = global_options,
    .n_options = GLOBAL_OPTIONS,
    .commands = commands,
    .n_commands = ARRAY_SIZE(commands),
    .help = help_all,
};
