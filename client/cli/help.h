/* SPDX-License-Identifier: MIT */
#pragma once
/* --help, made from the tables of commands and options. */

#include "options.h"

#include <stdio.h>

/* The exit statuses of the program as a whole; its man page shows them too. */
extern const char help_exit_statuses[];

/* Writes what rubricctl is, its commands, its exit statuses, and worked examples. */
void help_all(FILE *out, const struct program *program);

/* Writes the line of usage of PROGRAM, its commands, and the options of every command: what the
 * help of each program has in its middle. */
void help_put_program(FILE *out, const struct program *program, size_t columns);

/* Writes what COMMAND does, its options, exit statuses and examples. */
void help_command(FILE *out, const struct program *program, const struct command *command);
