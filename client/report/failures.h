/* SPDX-License-Identifier: MIT */
#pragma once
/* Failures and errors, with examples. Pure; each function returns NULL when memory runs out. */

#include "results.h"

/* Makes [{code, severity, count, examples}] of the failure modes, most frequent first. */
json_t *failures_modes_json(const struct results *results);

/* Makes [{code, count, examples}] of the error codes, most frequent first. */
json_t *failures_errors_json(const struct results *results);

/* Makes {total, shown: [{id, task_class, score, codes, detail, output, wall_clock_ms}]} of the
 * failed results with the lowest scores. Call worst_sort() before. */
json_t *failures_worst_json(const struct results *results);

/* Returns the codes of a result as one text, those that blocked first. The caller frees it. */
char *failures_codes(const struct results *results, const struct result *result);
