/* SPDX-License-Identifier: MIT */
#pragma once
/* A BenchRunReport in other forms. Pure. */

#include "results.h"

#include <stdio.h>

/* "Python 3.11.2, Linux 6.1 x86_64, 2 CPUs, 23.5 GiB, 2 slots" for one of the report's hosts: to be
 * freed, NULL when memory runs out. */
char *view_host_in_words(const json_t *host);

/* For people, in COLUMNS. */
void view_text(FILE *out, const json_t *report, size_t columns, bool colour);

/* One page that needs nothing else. 0 or -ENOMEM. */
int view_html(FILE *out, const json_t *report);

/* JUnit's XML: a test suite for each task class, a test case for each result. 0 or -ENOMEM. */
int view_junit(FILE *out, const json_t *report, const struct results *results);
