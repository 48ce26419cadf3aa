/* SPDX-License-Identifier: MIT */
#pragma once
/* Which cases had samples with different verdicts. A case takes the same few bytes whatever its id
 * is; only the first few that differ are kept by name. */

#include "idmap.h"

#include "proto/json.h"

#include <stdio.h>

struct flakiness {
    struct idmap cases;
    uint64_t compared;  /* cases with more than one verdict */
    uint64_t different; /* of these */
    json_t *names;      /* array: the first few of these */
};

#define FLAKINESS_NULL       \
    {                        \
        .cases = IDMAP_NULL, \
    }

int flakiness_init(struct flakiness *ret);
void flakiness_deinit(struct flakiness *flakiness);

/* 0 or -ENOMEM. */
int flakiness_add(struct flakiness *flakiness, const char *case_id, size_t n, bool passed);

/* A line or two for a person. */
void flakiness_put(FILE *out, const struct flakiness *flakiness);
