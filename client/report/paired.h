/* SPDX-License-Identifier: MIT */
#pragma once
/* Compares two runs case by case: differences within cases have a narrower interval than the
 * difference of two means, because cases differ more than runs. Pure. */

#include "bootstrap.h"
#include "results.h"

/* At most so many regressions and so many improvements are listed, largest change first, and so
 * many ids of each other list. */
#define PAIRED_CHANGES_MAX 1000
#define PAIRED_IDS_MAX 100

/* Makes the member `against` of a report on HERE, compared with THERE; the caller adds its `files`
 * and `comparable`. NULL when memory runs out. */
json_t *paired_json(const struct results *here, const struct results *there,
                    const struct bootstrap_options *options);
