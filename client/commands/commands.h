/* SPDX-License-Identifier: MIT */
#pragma once
/* The commands of rubricctl.
 *
 * Room client/commands: one file per command, or per family of small ones (control.c): its table of
 * options, its help, and the few steps that it takes. The work itself lies in the rooms below, all
 * of which it may include.
 *
 * Invariants:
 *  - A command checks its options and input before it connects.
 *  - Results go to stdout, everything else to stderr through complain(); the exit status is one of
 *    enum exit_status, except that `sandbox` passes on the status of the command that it ran. */

#include "client/cli/options.h"

extern const struct command command_run;
extern const struct command command_batch;
extern const struct command command_sandbox;
extern const struct command command_run_program;
extern const struct command command_grade;
extern const struct command command_replay;
extern const struct command command_report;
extern const struct command command_passk;
extern const struct command command_new_rubric;
extern const struct command command_check_rubric;
extern const struct command command_status;
extern const struct command command_metrics;
extern const struct command command_ping;
extern const struct command command_cancel;
extern const struct command command_drain;
extern const struct command command_reload;

extern const struct command command_fleet;

extern const struct program rubricctl_program;
