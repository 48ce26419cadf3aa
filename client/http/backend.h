/* SPDX-License-Identifier: MIT */
#pragma once
/* A connection to the daemon that many requests share: it submits their jobs in turns, asks the
 * daemon's questions, and connects again when the daemon went away.
 *
 * Theory of operation. A feeder is an object that has jobs to submit. The backend asks the feeders
 * in turn for one job each. It keeps just enough jobs in flight to keep the daemon busy, so that a
 * request of one job does not stand behind the thousands of another. A job whose turn has not come
 * stays with its feeder. If the connection is lost, the backend calls `lost` for each job in
 * flight, and feeders that wait go on waiting for the daemon. After `patience_ms` without a daemon
 * it calls `unreachable` for them.
 *
 * All its jobs are for one share: the daemon gives each share its own turns. */

#include "questions.h"

struct backend;
struct feeder;

struct feeder_ops {
    /* Hands out the next job, as the text of a JSON object, and a TAG by which the feeder knows its
     * answer. 1; 0 if there is none now: backend_offer() is due when there is one again. */
    int (*next)(struct feeder *feeder, struct bytes *ret_job, void **ret_tag);
    /* MESSAGE is a result or an error. Each tag gets either this call or the next. */
    void (*answer)(struct feeder *feeder, void *tag, struct message *message);
    /* The job has no answer: the daemon went away (CODE is daemon_gone), the job is larger than the
     * daemon accepts (frame_too_large, the only one that is not RETRIABLE), or memory ran out
     * (internal). */
    void (*lost)(struct feeder *feeder, void *tag, const char *code, const char *why,
                 bool retriable);
    /* There is no daemon. The feeder no longer waits. */
    void (*unreachable)(struct feeder *feeder, const char *why);
};

/* Embedded in what has jobs; zero at first. */
struct feeder {
    const struct feeder_ops *ops;
    struct backend *backend; /* at which it was offered; NULL: none */
    TAILQ_ENTRY(feeder) link;
    bool waiting;
    bool full; /* has as many jobs in flight as one feeder may */
    unsigned in_flight;
};

struct backend_host {
    struct event_base *base;
    const char *socket; /* the daemon's, borrowed */
    uint64_t patience_ms;
    unsigned jobs_per_feeder;
    const char *share; /* names the user whose jobs these are, in characters of a token's name; ""
                        * for none. The backend tells the daemon, if that takes such names */
    /* HELLO is the daemon's first message. May be NULL. */
    void (*greeted)(const struct message *hello, void *userdata);
    /* Cancels a job by the daemon's number of it, on another connection, which no job keeps the
     * daemon from reading. False: it cannot. May be NULL. */
    bool (*cancel)(uint64_t number, void *userdata);
    void *userdata;
};

/* Does not connect yet. 0 or a negative errno. */
int backend_new(const struct backend_host *host, struct backend **ret);

/* Closes the connection; nobody may wait at it any more. Accepts NULL and returns NULL. */
struct backend *backend_free(struct backend *backend);

/* Connects if that has not happened yet, or tries again. 0 or a negative errno. */
int backend_connect(struct backend *backend);

/* FEEDER has jobs. May call its functions before it returns. */
void backend_offer(struct backend *backend, struct feeder *feeder);

/* FEEDER has no jobs any more, and nobody wants the answers to those in flight: cancels them. TAGS
 * are given to DROP. */
void backend_withdraw(struct feeder *feeder, void (*drop)(void *tag));

/* Cancels the job that the daemon calls NUMBER, whichever connection it came by. False if there is
 * no daemon now. */
bool backend_cancel(struct backend *backend, uint64_t number);

/* Asks the daemon; told() is called once, perhaps before this returns. */
void backend_ask(struct backend *backend, enum ask ask, struct asker *asker);

/* How the ids of its jobs begin at the daemon: nobody else can guess it. */
const char *backend_ids(const struct backend *backend);

/* The largest job that the daemon accepts, in bytes. */
size_t backend_job_max(const struct backend *backend);

/* Checks that the daemon accepts a job of SIZE bytes. 0, or -EINVAL with both sizes in FAULT. */
int backend_check_size(const struct backend *backend, size_t size, struct fault *fault);
