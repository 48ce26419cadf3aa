/* SPDX-License-Identifier: MIT */
#pragma once
/* The jobs that are under way, in the order in which they were submitted first, each with what its
 * line of results needs, and the request itself, for when it has to be submitted again. */

#include "proto/json.h"

#include <stdio.h>

enum pending_state {
    PENDING_QUEUED,    /* at the daemon */
    PENDING_RUNNING,   /* ... which has said that it runs */
    PENDING_WITHDRAWN, /* ... which was asked to cancel it before it ran: it gets no line */
    PENDING_WAITING,   /* here, for another attempt at its due_ms */
    PENDING_STARVED,   /* here, for an attempt with nothing beside it */
    PENDING_STATES,
};

struct pending_job {
    struct bytes id;
    struct bytes payload;
    json_t *note; /* may be NULL */
    json_t *run;  /* may be NULL */
    enum pending_state state;
    int64_t since_ms; /* since when it is in this state */
    int64_t due_ms;
    size_t slot;
};

void pending_job_free(struct pending_job *job);

struct pending {
    json_t *ids; /* ordered; id to the number of a slot */
    struct pending_job **slots;
    size_t *free; /* as a stack: the slots that are not in use */
    size_t n_free;
    size_t room;
    size_t counts[PENDING_STATES];
};

#define PENDING_NULL \
    {                \
        .ids = NULL  \
    }

int pending_init(struct pending *ret);
void pending_deinit(struct pending *pending);
#define _cleanup_pending_ _cleanup_(pending_deinit)

size_t pending_count(const struct pending *pending);

/* Those that the daemon has. */
size_t pending_in_flight(const struct pending *pending);

/* A job that is queued since NOW; takes over *ID and *PAYLOAD, which is JSON, and keeps references
 * to NOTE and RUN, which may be NULL. 0; -EEXIST where ID is there already and -ENOMEM take over
 * nothing. */
int pending_add(struct pending *pending, struct bytes *take_id, struct bytes *take_payload,
                json_t *note, json_t *run, int64_t now);

/* NULL where there is none. */
struct pending_job *pending_find(const struct pending *pending, const char *id, size_t n);

void pending_set_state(struct pending *pending, struct pending_job *job, enum pending_state state,
                       int64_t now);

/* Takes JOB out; it is the caller's then. */
struct pending_job *pending_take(struct pending *pending, struct pending_job *job);

typedef bool pending_visit(struct pending_job *job, void *arg);

/* Calls VISIT for each job, oldest first, until it returns false. None may be added or taken. */
void pending_each(const struct pending *pending, pending_visit *visit, void *arg);

/* Writes the first MAX ids with ", " between them, and how many more there are. */
void pending_put(FILE *out, const struct pending *pending, size_t max);
