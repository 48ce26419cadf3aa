/* SPDX-License-Identifier: MIT */
#pragma once
/* The commands of rubricctl-fleet. */

#include "options.h"

extern const struct command fleet_init;
extern const struct command fleet_worker;
extern const struct command fleet_serve;
extern const struct command fleet_status;
extern const struct command fleet_push_bench;

/* Commands of rubricctl with a fleet behind them. */
struct command fleet_batch(void);
struct command fleet_grade(void);

enum { FLEET_COMMANDS = 7 };

/* The program, and the commands that are made while it runs. */
struct fleet_program {
    struct program program;
    const struct command *commands[FLEET_COMMANDS];
    struct command batch, grade;
};

/* Makes it; RET stays where it is. */
void fleet_program_init(struct fleet_program *ret);
