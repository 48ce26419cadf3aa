/* SPDX-License-Identifier: MIT */
#pragma once
/* Learns from the data set's own solutions, the references, how its tasks can be judged, before any
 * sample is: in isolation or only in one process with the tests, with which time limit, or not at
 * all. Samples have no part in that. A reference runs isolated first; if it fails, it runs once
 * more in mode `shared`, unless its tests ask nothing of it: there, any code would pass. A program
 * has one mode and its data set's time limit: its reference only tells whether the task is broken.
 * Pure: the caller runs the jobs.
 *
 * preflight_enter() alone changes the state of a task, and asserts that the change is legal. */

#include "gradejob.h"

/* A time limit is too tight if the reference needs more than one part in so many of it. It is then
 * raised to so many times what the reference takes. */
#define PREFLIGHT_TIMES 4

enum preflight_state {
    PREFLIGHT_LEFT_OUT, /* nobody asked, or there is no reference */
    PREFLIGHT_ISOLATED, /* the reference runs, or will */
    PREFLIGHT_SHARED,   /* it failed in isolation, and runs in one process, or will */
    PREFLIGHT_PASSED,   /* in the mode that `shared` of the task says */
    PREFLIGHT_BROKEN,   /* it failed in every mode, or its tests judge nothing */
    PREFLIGHT_ERROR,    /* it ended in an error: no verdict */
    PREFLIGHT_STATES,
};

struct preflight_task {
    enum preflight_state state;
    bool shared;       /* its samples are graded in one process with the tests */
    bool lacks_module; /* the tests need a module that the daemon's host does not have */
    double timeout_s;  /* the raised time limit; 0: it is not raised */
    int64_t wall_ms;   /* what the reference took, without waiting for a CPU */
    json_t *note;      /* `run.preflight` of its samples' lines, owned; NULL: none */
    json_t *why;       /* why the reference has not passed, in words, owned; NULL: it has */
};

struct preflight {
    const struct dataset *dataset; /* borrowed */
    struct gradejob_policy policy; /* of all tasks */
    double limit_s;                /* the time limit that holds without a raised one */
    double limit_max_s;            /* the highest that a job may have */
    struct preflight_task *tasks;  /* one for each of the data set; NULL: no preflight */
    size_t *queue;                 /* numbers of tasks whose reference is to run */
    size_t queued, taken;          /* how many it has had; how many of them are taken */
    size_t waiting;                /* references that have no verdict yet */
    size_t runs;                   /* answers that came */
    int64_t took_ms;               /* all of it; set by the caller */
    json_t *lacking;               /* object of missing modules to {"tasks": n, "words": text} */
};

#define PREFLIGHT_NULL  \
    {                   \
        .dataset = NULL \
    }

/* Times in seconds. 0 or -ENOMEM. */
int preflight_init(struct preflight *ret, const struct dataset *dataset,
                   const struct gradejob_policy *policy, double limit_s, double limit_max_s);
void preflight_deinit(struct preflight *preflight);

/* Asks for TASK to be decided, at most once. Does nothing if it has no reference. */
void preflight_want(struct preflight *preflight, size_t task);

/* Decides TASK as an earlier run did, whose lines say NOTE in `run.preflight`. Returns whether it
 * can: not if the task, its reference or the options have changed since. */
bool preflight_restore(struct preflight *preflight, size_t task, const json_t *note);

/* Takes the next reference to run. Returns 1 with its task and its job, which the caller owns; 0 if
 * there is none, for now if preflight->waiting is not 0; -ENOMEM. */
int preflight_next(struct preflight *preflight, size_t *ret_task, json_t **ret_job);

/* Takes the ANSWER, a `result` or an `error`, to the job of TASK. 0 or -ENOMEM. */
int preflight_take(struct preflight *preflight, size_t task, const struct message *answer);

/* Notes that the job of TASK cannot be run. 0 or -ENOMEM. */
int preflight_fail(struct preflight *preflight, size_t task, const char *why);

/* Returns how samples of TASK are graded, also if PREFLIGHT is empty but for its policy. */
struct gradejob_policy preflight_policy(const struct preflight *preflight, size_t task);

/* Adds what is known of TASK, if anything is, to RUN of a sample's line. 0 or -ENOMEM. */
int preflight_put_note(const struct preflight *preflight, size_t task, json_t *run);

bool preflight_is_broken(const struct preflight *preflight, size_t task);

/* Whether MESSAGE, of an error GRADEJOB_LACKING, is about a module that a reference lacked. */
bool preflight_knows_lacking(const struct preflight *preflight, const char *message);

/* Counts the tasks in STATE, or the shared ones among them. */
size_t preflight_count(const struct preflight *preflight, enum preflight_state state);
size_t preflight_count_shared(const struct preflight *preflight);

/* The time limit of TASK, in seconds, unless it was raised. */
double preflight_limit(const struct preflight *preflight, size_t task);
