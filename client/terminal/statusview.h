/* SPDX-License-Identifier: MIT */
#pragma once
/* The daemon's status as a page for people: what they need first stands first. Pure. What the
 * message lacks, or has of another type than expected, is shown as 0, "?" or nothing. */

#include "proto/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct statusview {
    size_t columns; /* no line is longer, where that can be had: from 40 on */
    size_t rows;    /* what lists are shortened for; 0: there is no end to the page */
    /* Local time when the status came, for when jobs will be ended; may be NULL. */
    const struct tm *clock;
    bool colour;
};

void statusview_put(FILE *out, const json_t *status, const struct statusview *view);
