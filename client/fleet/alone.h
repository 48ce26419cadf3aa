/* SPDX-License-Identifier: MIT */
#pragma once
/* A job that has starved runs with nothing of this worker beside it, on any of its daemons. The
 * jobs that run already end first; such jobs run one after the other. */

#include "task.h"

/* Whether a job waits to be alone, or is: the worker pulls nothing meanwhile. */
bool alone_is_wanted(const struct tasks *tasks);

/* Lets the one that came first begin, if no other job is under way. */
void alone_go_on(const struct tasks *tasks);
