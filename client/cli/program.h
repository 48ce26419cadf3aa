/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads a command line and runs one command of a program. */

#include "options.h"

/* Returns the exit status. GLOBALS is zeroed, and all that PROGRAM's options have room in. */
enum exit_status program_main(const struct program *program, int argc, char **argv,
                              struct globals *globals);
