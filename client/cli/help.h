/* SPDX-License-Identifier: MIT */
#pragma once
/* --help, made from the tables. */

#include "options.h"

#include <stdio.h>

/* Texts of the program as a whole, for its man page too. */
extern const char help_exit_statuses[];

/* What rubricctl is, its commands, its exit statuses, two worked examples. */
void help_all(FILE *out);

/* What COMMAND does, its options, examples and exit statuses. */
void help_command(FILE *out, const struct command *command);
