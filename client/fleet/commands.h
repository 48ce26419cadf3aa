/* SPDX-License-Identifier: MIT */
#pragma once
/* The commands of rubricctl-fleet. */

#include "options.h"

extern const struct command fleet_init;
extern const struct command fleet_worker;
extern const struct command fleet_status;

extern const struct program fleet_program;
