/* SPDX-License-Identifier: MIT */
#pragma once
/* What went wrong, and examples of it. Pure; each returns NULL when memory runs out. */

#include "results.h"

/* [{code, severity, count, examples}], most frequent first. */
json_t *failures_modes_json(const struct results *results);

/* [{code, count, examples}]. */
json_t *failures_errors_json(const struct results *results);

/* {total, shown: [{id, task_class, score, codes, detail, wall_clock_ms}]}: the worst of those that
 * failed. */
json_t *failures_worst_json(const struct results *results);

/* The codes of a result, those that blocked first, as one text: to be freed. */
char *failures_codes(const struct results *results, const struct result *result);
