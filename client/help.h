/* SPDX-License-Identifier: MIT */
#pragma once
/* --help, made from the tables. */

#include "options.h"

#include <stdio.h>

/* What rubricctl is, its N commands, its exit statuses, two worked examples. */
void help_all(FILE *out, const struct command *const *commands, size_t n);

/* What COMMAND does, its options, examples and exit statuses. */
void help_command(FILE *out, const struct command *command);
