/* SPDX-License-Identifier: MIT */
#pragma once
/* One command per file. */

#include "client/cli/options.h"

extern const struct command command_run;
extern const struct command command_batch;
extern const struct command command_sandbox;
extern const struct command command_grade;
extern const struct command command_report;
extern const struct command command_passk;
extern const struct command command_status;
extern const struct command command_metrics;
extern const struct command command_ping;
extern const struct command command_cancel;
extern const struct command command_drain;
extern const struct command command_reload;

/* All of them, in the order in which help shows them. */
#define COMMANDS_MAX 32
extern const struct command *const commands[];
extern const size_t n_commands; /* at most COMMANDS_MAX */
