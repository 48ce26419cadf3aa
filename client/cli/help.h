/* SPDX-License-Identifier: MIT */
#pragma once
/* --help, made from the tables of commands and options. */

#include "options.h"

#include <stdio.h>

/* The exit statuses of the program as a whole; its man page shows them too. */
extern const char help_exit_statuses[];

/* Writes what rubricctl is, its COMMANDS in that order, its exit statuses, and worked examples. */
void help_all(FILE *out, const struct command *const *commands, size_t n_commands);

/* Writes what COMMAND does, its options, exit statuses and examples. */
void help_command(FILE *out, const struct command *command);
