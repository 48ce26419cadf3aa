/* SPDX-License-Identifier: MIT */
#pragma once
/* The jail as a program. */

#include "interpreter.h"

/* The whole program; INTERPRETER: NULL where there is none. */
int jail_main(int argc, char **argv, const struct jail_interpreter *interpreter);
