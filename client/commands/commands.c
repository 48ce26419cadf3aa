/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "proto/util.h"

const struct command *const commands[] = {
    &command_run,        &command_batch,        &command_sandbox, &command_run_program,
    &command_grade,      &command_replay,       &command_report,  &command_passk,
    &command_new_rubric, &command_check_rubric, &command_status,  &command_metrics,
    &command_ping,       &command_cancel,       &command_drain,   &command_reload,
};
const size_t n_commands = ARRAY_SIZE(commands);

_Static_assert(ARRAY_SIZE(commands) <= COMMANDS_MAX, "COMMANDS_MAX is too small");
