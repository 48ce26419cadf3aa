/* SPDX-License-Identifier: MIT */
#pragma once
/* Counts of a tally for each language of its samples: pass@k of one language says little of
 * another. Pure. */

#include "passk.h"

#include <jansson.h>
#include <stdio.h>

/* Counts a verdict on a sample of TASK, a number, in LANGUAGE. *COUNTS is owned, and NULL if there
 * are none yet. 0 or -ENOMEM. */
int bylanguage_add(json_t **counts, const char *language, size_t task, bool is_correct);

/* Writes a line for each language, if there are several. */
void bylanguage_put(FILE *out, const json_t *counts, const struct passk_ks *ks);

/* Makes an object of the same; a pass@k that cannot be computed is null. NULL when memory runs out.
 */
json_t *bylanguage_json(const json_t *counts, const struct passk_ks *ks);
