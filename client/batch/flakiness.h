/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds the cases whose samples had different verdicts. Each case takes the same few bytes, however
 * long its id. Only the first few cases that differ are kept by name. */

#include "idmap.h"

#include "proto/json.h"

#include <stdio.h>

struct flakiness {
    struct idmap cases;
    uint64_t compared;  /* cases with more than one verdict */
    uint64_t different; /* of these */
    json_t *names;      /* array of their first few ids */
};

#define FLAKINESS_NULL       \
    {                        \
        .cases = IDMAP_NULL, \
    }

int flakiness_init(struct flakiness *ret);
void flakiness_deinit(struct flakiness *flakiness);

/* Counts a verdict on a case. 0 or -ENOMEM. */
int flakiness_add(struct flakiness *flakiness, const char *case_id, size_t n, bool passed);

/* Writes a line or two for people. */
void flakiness_put(FILE *out, const struct flakiness *flakiness);
