/* SPDX-License-Identifier: MIT */
#pragma once
/* Renders the daemon's status as a page for people, most urgent first. Pure. Shows a member that
 * the message lacks, or that has an unexpected type, as 0, "?" or nothing. */

#include "proto/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct statusview {
    size_t columns; /* no line is longer, if this is at least 40 */
    size_t rows;    /* lists are cut to fit; 0: the page may have any length */
    /* Local time when the status came, to tell when jobs time out; may be NULL. */
    const struct tm *clock;
    bool colour;
};

void statusview_put(FILE *out, const json_t *status, const struct statusview *view);
