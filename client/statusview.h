/* SPDX-License-Identifier: MIT */
#pragma once
/* The daemon's status as a page for people. Pure. What the message lacks, or has of another type
 * than expected, is shown as 0, "?" or nothing. */

#include "proto/json.h"

#include <stdio.h>

void statusview_put(FILE *out, const json_t *status, bool colour);
