/* SPDX-License-Identifier: MIT */
#pragma once
/* The ids of the jobs in flight, in the order in which they were submitted, each with what its
 * answer needs, and the request itself, for when the daemon is lost before it has answered. */

#include "proto/json.h"

#include <stdio.h>

struct pending {
    json_t *ids; /* ordered; id to [note, payload] */
};

#define PENDING_NULL \
    {                \
        .ids = NULL  \
    }

int pending_init(struct pending *ret);
void pending_deinit(struct pending *pending);
#define _cleanup_pending_ _cleanup_(pending_deinit)

size_t pending_count(const struct pending *pending);

/* Keeps a reference to NOTE, which may be NULL, and a copy of PAYLOAD, which is JSON. 0, -EEXIST
 * where ID is there already, -ENOMEM. */
int pending_add(struct pending *pending, const struct bytes *id, json_t *note,
                const struct bytes *payload);

bool pending_has(const struct pending *pending, const char *id, size_t n);

/* Takes ID out: its note (JSON null where it had none), owned by the caller; NULL where ID was not
 * there. */
json_t *pending_take(struct pending *pending, const char *id, size_t n);

/* PAYLOAD is borrowed. */
typedef bool pending_visit(const char *id, size_t n, const struct bytes *payload, void *arg);

/* Calls VISIT for each id, oldest first, until it returns false. PENDING must not change. */
void pending_each(const struct pending *pending, pending_visit *visit, void *arg);

/* Writes the first MAX ids with ", " between them, and how many more there are. */
void pending_put(FILE *out, const struct pending *pending, size_t max);
