/* SPDX-License-Identifier: MIT */
#pragma once
/* The jobs under way, in the order in which they were first submitted. Each keeps what its line of
 * results needs, and its request, in case it has to be submitted again. Pure.
 *
 * Invariants: pending_enter(), pending_add() and pending_take() alone change a job's state, all by
 * one function that asserts the transition; counts[] holds the number of jobs in each state. */

#include "puts.h"

#include "proto/json.h"

#include <stdio.h>

enum pending_state {
    PENDING_OUT,       /* not in the set: not yet added, or taken out; the caller owns the job */
    PENDING_QUEUED,    /* the daemon has it */
    PENDING_RUNNING,   /* the daemon has it and said that it runs */
    PENDING_WITHDRAWN, /* the daemon has it and was asked to cancel it before it ran: no line */
    PENDING_WAITING,   /* here until its due_ms, for another attempt */
    PENDING_STARVED,   /* here until it can run with nothing beside it */
    PENDING_STATES,
};

struct pending_job {
    struct bytes id;
    struct bytes payload;
    char *place;         /* where the input has it; may be NULL */
    struct tests tests;  /* that have to be put before it */
    unsigned times_lost; /* the daemon had dropped them */
    json_t *note;        /* may be NULL */
    json_t *run;         /* may be NULL */
    enum pending_state state;
    int64_t since_ms; /* when it entered its state */
    int64_t due_ms;   /* of PENDING_WAITING */
    size_t slot;
    bool begun; /* of PENDING_WITHDRAWN: it started before the daemon had read the cancel */
};

void pending_job_free(struct pending_job *job);

struct pending {
    json_t *ids; /* ordered; id to the number of a slot */
    struct pending_job **slots;
    size_t *free; /* stack of the unused slots */
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

/* Whether the daemon has JOB and owes it an answer. */
bool pending_is_in_flight(const struct pending_job *job);

/* Counts the jobs that the daemon has. */
size_t pending_in_flight(const struct pending *pending);

/* Adds a job that is queued since NOW. Takes over *ID, *PAYLOAD, which is JSON, and *TESTS, and
 * adds a reference to NOTE and RUN, which may be NULL. Returns 0; on -EEXIST (ID is in the set) and
 * -ENOMEM the caller keeps everything. */
int pending_add(struct pending *pending, struct bytes *take_id, struct bytes *take_payload,
                struct tests *take_tests, json_t *note, json_t *run, int64_t now);

/* Returns NULL if no job has this id. */
struct pending_job *pending_find(const struct pending *pending, const char *id, size_t n);

/* Moves JOB to STATE at NOW. */
void pending_enter(struct pending *pending, struct pending_job *job, enum pending_state state,
                   int64_t now);

/* Takes JOB out of the set and gives it to the caller. */
struct pending_job *pending_take(struct pending *pending, struct pending_job *job);

typedef bool pending_visit(struct pending_job *job, void *arg);

/* Calls VISIT for each job, oldest first, until it returns false. VISIT may change states, but not
 * add or take jobs. */
void pending_each(const struct pending *pending, pending_visit *visit, void *arg);

/* Writes the first MAX ids, separated by ", ", and how many more there are. */
void pending_put(FILE *out, const struct pending *pending, size_t max);
