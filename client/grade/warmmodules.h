/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds the modules that the daemon is to load once for all jobs of a data set (`warm_modules`).
 * Pure. */

#include "dataset.h"

/* Returns the names, an array that the caller owns, of modules that take long to import and that
 * each task of kind `code_exec` in DATASET imports itself, at the top level of its prompt or its
 * tests. NULL: there are none, or memory runs out. If tasks were to name modules of their own, jobs
 * would be of several classes, and each would end what another has loaded. */
json_t *warmmodules_find(const struct dataset *dataset);
