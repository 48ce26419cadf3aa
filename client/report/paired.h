/* SPDX-License-Identifier: MIT */
#pragma once
/* A run against another one, case by case: what differs between two answers to the same case is
 * surer than what differs between two means. Pure. */

#include "bootstrap.h"
#include "results.h"

/* How many regressions and improvements are listed, worst first, and how many other ids. */
#define PAIRED_CHANGES_MAX 1000
#define PAIRED_IDS_MAX 100

/* What HERE has come to against THERE: the member `against` of a report without its `files` and
 * `comparable`. NULL when memory runs out. */
json_t *paired_json(const struct results *here, const struct results *there,
                    const struct bootstrap_options *options);
