/* SPDX-License-Identifier: MIT */
#pragma once
/* What it takes to grade the same again: versions, digests, hosts, times. Pure. */

#include "results.h"

/* Takes from LINE what it tells of its case. */
void facts_add_case(struct results *results, uint32_t case_no, const struct line *line);

/* Takes from LINE what it tells of the run. 0 or -ENOMEM; what is too much is left out. */
int facts_add(struct results *results, const struct line *line);

/* Milliseconds since 1970 of "2026-11-21T17:55:01.123Z"; 0 where it is none. */
int64_t facts_parse_time(const char *text);

/* Room for facts_print_time. */
#define FACTS_TIME_MAX 32
const char *facts_print_time(int64_t ms, char out[FACTS_TIME_MAX]);
