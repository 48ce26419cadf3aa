/* SPDX-License-Identifier: MIT */
#pragma once
/* A job of a run, from its submission to the moment when its answer has been passed on.
 *
 * Theory of operation. runjob_enter() alone changes the state. A job whose verdict an earlier
 * client of the run has left in the stream of results is answered with that. A stored error, or an
 * answer to another job of the same id, is deleted first, and the job is queued anew. So is a
 * result whose chunks the server has lost, and one of a daemon that confines jobs otherwise. */

#include "blobs.h"
#include "cancels.h"
#include "frontbenches.h"

#include <sys/queue.h>

enum runjob_state {
    RUNJOB_NEW,
    RUNJOB_LOOKING,  /* fetches the result that is there */
    RUNJOB_CLEARING, /* deletes it */
    RUNJOB_STORING,  /* stores a body that is too large for a message */
    RUNJOB_SENDING,  /* puts the job into the queue */
    RUNJOB_QUEUED,
    RUNJOB_READING, /* fetches the chunks of its result */
    RUNJOB_OVER,
    RUNJOB_STATES,
};

struct runjob;

struct runjob_ops {
    /* TEXT, which may be taken over, is the answer. The job is over; the callee frees it. */
    void (*answered)(struct runjob *job, struct bytes *text);
    /* There is no answer to be had, because of CODE, one of the protocol's. As above. */
    void (*failed)(struct runjob *job, const char *code, const char *why);
    /* The result that was there is no longer in the stream. */
    void (*cleared)(struct runjob *job);
};

struct runjob {
    struct bus *bus;
    const char *run;       /* borrowed */
    const char *isolation; /* borrowed: of the daemon that its answer is to come from; FEEDS_ANY */
    const struct runjob_ops *ops;
    void *arg;
    struct bytes id;
    char token[NAMES_TOKEN_MAX + 1];
    int64_t priority;
    struct bytes body; /* the fields of the job, as JSON; empty once it is queued */
    char digest[DIGEST_SIZE];
    uint64_t submission; /* a number that no other job has: see cancels.h; set by runjob_begin() */
    char *body_ref, *tests_ref;         /* NULL: none */
    char bench[FRONTBENCHES_NAME_SIZE]; /* the rubric that it is to have; "": none is named */
    uint64_t job_no;
    uint64_t known_seq;    /* the result that is there; 0: none */
    unsigned lost;         /* how often a result was there in part, and had to go */
    unsigned foreign;      /* how often one was of another isolation */
    bool is_known_verdict; /* it is no error */
    bool is_started, is_cancelled;
    bool is_again;      /* it was in the queue before; set until the queue has it */
    bool is_displaced;  /* another job of its id was in its place; set until the queue has it */
    uint64_t floor;     /* of the consumer, while its message is looked for; 0 */
    bool keeps_starved; /* its answer counts although it got no CPU */
    enum runjob_state state;
    uint64_t request;
    struct blob *blob;
    int64_t queued_ms;   /* when it was last put into the queue */
    char why[128];       /* the last answer of a queue that did not take it */
    uint64_t queued_seq; /* of its message there; 0: unknown, since it was there already */
};

/* Begins with a job that is filled in up to known_seq. */
void runjob_begin(struct runjob *job);

/* Looks whether the result of a job that was put into the queue before BEFORE_MS is there, because
 * a server whose disk was lost may give one a number that the reader has passed; and puts the job
 * into the queue once more if it is not: a server may have lost it, or its result after it was
 * acknowledged. If the queue has it still, for somebody to get, nothing changes; if
 * it does not, the job may run twice, and has one result all the same. Returns whether this is such
 * a job. */
bool runjob_send_again(struct runjob *job, int64_t before_ms);

/* A result of its id has come. Returns whether it is an answer to this job. */
bool runjob_take(struct runjob *job, natsMsg *message, uint64_t seq);

/* Takes the job out of the queue and tells the workers, which do not begin with it even if they
 * hear of that before they have it; as soon as it is known to be there:
 * `failed` is called with the code `cancelled`. */
void runjob_withdraw(struct runjob *job);

struct runjob *runjob_free(struct runjob *job);
