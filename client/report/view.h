/* SPDX-License-Identifier: MIT */
#pragma once
/* A BenchRunReport in other forms. Pure. */

#include "results.h"

#include <stdio.h>

/* For people, in COLUMNS. */
void view_text(FILE *out, const json_t *report, size_t columns, bool colour);

/* One page that needs nothing else. 0 or -ENOMEM. */
int view_html(FILE *out, const json_t *report);

/* JUnit's XML: a test suite for each task class, a test case for each result. 0 or -ENOMEM. */
int view_junit(FILE *out, const json_t *report, const struct results *results);
