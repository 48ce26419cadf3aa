/* SPDX-License-Identifier: MIT */
#pragma once
/* The tables of the HTML page. Pure. */

#include "proto/json.h"

#include <stdio.h>

void htmltables_classes(FILE *out, const json_t *report);
void htmltables_modes(FILE *out, const json_t *report);
/* Nothing where there are none. */
void htmltables_errors(FILE *out, const json_t *report);
void htmltables_failures(FILE *out, const json_t *report);
/* Nothing where the run was not compared. */
void htmltables_against(FILE *out, const json_t *report);

/* VALUE with four digits; a dash where it is null. */
void htmltables_put_real(FILE *out, const json_t *value);

/* "BCa", "Wilson", "percentile" for the method of an interval. */
const char *htmltables_method(const char *method);
