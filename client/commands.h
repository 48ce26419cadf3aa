/* SPDX-License-Identifier: MIT */
#pragma once
/* One command per file. */

#include "options.h"

extern const struct command command_run;
extern const struct command command_batch;
extern const struct command command_sandbox;
extern const struct command command_grade;
extern const struct command command_passk;
extern const struct command command_status;
extern const struct command command_ping;
extern const struct command command_cancel;
extern const struct command command_drain;
