/* SPDX-License-Identifier: MIT */
#pragma once
/* --help, made from the tables. */

#include "options.h"

#include <stdio.h>

/* Texts of the program as a whole, for its man page too. */
extern const char help_exit_statuses[];

/* Writes what rubricctl is, its COMMANDS in that order, its exit statuses, and worked examples. */
void help_all(FILE *out, const struct command *const *commands, size_t n_commands);

/* What COMMAND does, its options, examples and exit statuses. */
void help_command(FILE *out, const struct command *command);
