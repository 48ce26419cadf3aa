/* SPDX-License-Identifier: MIT */
#pragma once
/* A job that has starved, or whose next start without an end is the last, runs with nothing of this
 * worker beside it, on any of its daemons. The jobs that run already end first; such jobs run one
 * after the other. That has a bound: a job that has waited for long enough begins all the same, and
 * the result of one that has starved says so. */

#include "task.h"

/* Whether a job waits to be alone, or is: the worker pulls nothing meanwhile. */
bool alone_is_wanted(const struct tasks *tasks);

/* Lets the one that came first begin, if no other job is under way or it has waited for
 * PATIENCE_MS. Returns when to call this again at the latest; INT64_MAX: no job waits. */
int64_t alone_go_on(const struct tasks *tasks, int64_t patience_ms, int64_t now);
