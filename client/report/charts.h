/* SPDX-License-Identifier: MIT */
#pragma once
/* Plots as SVG within an HTML page. Each is an image with a description for who cannot see it; the
 * numbers stand in the page as well. Pure. */

#include "proto/json.h"

#include <stdio.h>

/* How many results have which score. */
void chart_scores(FILE *out, const json_t *report);

/* The mean score of each task class with its interval. */
void chart_classes(FILE *out, const json_t *report);

/* How long results took: WHICH of the latencies, under TITLE. Nothing where it is not known. */
void chart_latency(FILE *out, const json_t *report, const char *which, const char *title);
