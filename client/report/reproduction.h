/* SPDX-License-Identifier: MIT */
#pragma once
/* Collects from the lines the facts that a reader needs to repeat the run. Pure. */

#include "bootstrap.h"
#include "results.h"

/* The member `reproducibility` of a report. A value that no line has is null, with the reason in
 * its `missing`. VERSION is that of this program. NULL when memory runs out. */
json_t *reproduction_json(const struct results *results, const struct bootstrap_options *bootstrap,
                          const char *version);
