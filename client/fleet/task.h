/* SPDX-License-Identifier: MIT */
#pragma once
/* A job that a worker has pulled, from the message in the queue to its acknowledgement.
 *
 * Theory of operation. A task goes through the states below; each but TASK_RUNNING waits for an
 * answer of the server. task_enter() alone changes the state. What the order of the steps is for:
 *
 *  - The mark is stored before the daemon gets the job, so that a job that takes the worker down
 *    leaves one. The third start without an end is the last: the next worker publishes an error and
 *    a dead letter.
 *  - The result is stored before the job is acknowledged. If the worker dies between the two, the
 *    job is delivered again, and the next worker finds the result.
 *  - A job that is handed back, or cancelled, is taken off the mark first, so that handing it back
 * does not count.
 *  - A job that has starved here is noted on the mark in place of its start, and handed back. The
 *    mark tells the next worker to run it alone, and this one to leave it to others for a while.
 *
 * Until it ends, a task tells the server now and then that it is in progress. */

#include "blobs.h"
#include "feeds.h"
#include "lane.h"
#include "marks.h"
#include "passes.h"
#include "taskbench.h"

enum task_state {
    TASK_NEW,
    TASK_LOOKING,    /* whether a result is there: the job was delivered before */
    TASK_FETCHING,   /* its body, its tests or its rubric */
    TASK_MARKING,    /* its start */
    TASK_WAITING,    /* until it is alone, because it has starved elsewhere */
    TASK_RUNNING,    /* at the daemon */
    TASK_PUBLISHING, /* the result, or the chunks of one that is too large */
    TASK_BURYING,    /* stores a dead letter; the error is published then */
    TASK_UNMARKING,  /* takes its start back; is handed back then */
    TASK_STARVING,   /* notes that it has starved here; is handed back then */
    TASK_SETTLING,   /* acknowledges, hands back or terminates the message */
    TASK_OVER,       /* the owner frees it */
    TASK_STATES,
};

/* How a task ended. */
enum task_end {
    TASK_DONE,  /* a verdict is stored */
    TASK_ERROR, /* an error is stored */
    TASK_DEAD,  /* a dead letter is stored, and an error */
    TASK_KNOWN, /* another worker's result was there */
    TASK_BACK,  /* handed back */
    TASK_CANCELLED,
    TASK_STARVED, /* handed back, because it got no CPU here */
    TASK_PASSED,  /* handed back, because another host is to have it */
};

struct task {
    struct bus *bus;
    struct lane *lane;
    const char *worker;    /* borrowed: its name */
    struct passes *passes; /* borrowed: of the worker */
    struct names_job names;
    struct bytes id;
    char *subject; /* of the job's message */
    char *reply;   /* where it is acknowledged */
    struct api_delivery delivery;
    struct bytes body;
    char *digest, *body_ref, *tests_ref; /* may be NULL */
    char wanted[80];    /* digest of the isolation that the run wants, or FEEDS_ANY */
    char isolation[80]; /* of the daemon that gave the answer; "": an error, or none has come */
    struct tests tests;
    char nonce[24];   /* of its start */
    struct mark mark; /* as stored, with our start once it is there; empty: not read */
    uint64_t mark_seq;
    struct bytes result;
    char *result_ref; /* NULL: the result goes into one message */
    bool result_is_error;
    struct taskbench bench;
    struct lane_job job;
    struct blob *blob;
    uint64_t request;
    const char *back; /* the verb with which it is handed back */
    enum task_state state;
    enum task_end end;
    bool holds_slot;                /* counts in lane->reserved */
    bool is_cancelled, is_unwanted; /* by its run; by this worker, which stops */
    bool keeps_starved;             /* its run wants the answer although it got no CPU */
    bool lacks_rubric;              /* is handed back because its rubric is not to be had here */
    bool is_alone;                  /* this worker begins nothing beside it */
    unsigned beside; /* if it is alone: jobs that ran when it began, for which it waited in vain */
    unsigned tests_lost;
    size_t looked_at; /* starts on the mark whose workers were asked about, before it is buried */
    int64_t progress_ms, ack_wait_ms, settle_ms;
    int64_t waits_since_ms; /* since when it is TASK_WAITING, or was */
    LIST_ENTRY(task) link;
};

LIST_HEAD(tasks, task);

/* Makes the task of MESSAGE, which FEED has delivered for LANE, and begins. BENCHES, which may be
 * NULL, and PASSES are of the worker. NULL if it is no job or memory runs out: the message is
 * delivered again. */
struct task *task_new(struct bus *bus, struct lane *lane, const char *worker,
                      struct benches *benches, struct passes *passes, const struct feed *feed,
                      natsMsg *message, int64_t now);

struct task *task_free(struct task *task);

/* Hands the job back, unless its result is known already. */
void task_give_back(struct task *task);

/* Its run no longer wants it. */
void task_cancel(struct task *task);

/* A task that is TASK_WAITING goes on, beside so many others: 0, unless it has waited in vain. */
void task_go_alone(struct task *task, unsigned beside);

/* Makes a JSON array with the nonces of the starts that TASKS have on marks. NULL if memory runs
 * out. */
json_t *tasks_held(const struct tasks *tasks);

/* Says that it is in progress if that is due. Returns when it is due next. */
int64_t task_tick(struct task *task, int64_t now);
