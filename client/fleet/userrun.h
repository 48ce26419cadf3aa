/* SPDX-License-Identifier: MIT */
#pragma once
/* The run that `fleet serve` has for a user: its consumers, and what workers say of its jobs.
 *
 * Theory of operation. The name of the run is new, so nothing of it is at the server before. Each
 * priority has a consumer from its first job on. Once the run has no jobs for a while, its
 * consumers are taken away, and its results and marks, for which nobody can ask any more. A
 * consumer is only deleted after the server has said that it has nothing left; jobs that come
 * meanwhile have it made again. enter() in userrun.c alone changes the state of a consumer. */

#include "consumer.h"
#include "reader.h"
#include "turns.h"

#include "client/batch/digest.h"

struct userrun_ops {
    /* The run can have jobs from now on. */
    void (*ready)(void *arg);
    /* A result has come. TOKEN is that of its job. */
    void (*result)(void *arg, const char *token, natsMsg *message, uint64_t seq);
    /* A daemon has started the program of the job with TOKEN. */
    void (*started)(void *arg, const char *token);
    /* The server has lost results that were read; others may have come with their numbers. */
    void (*lost)(void *arg);
};

enum userrun_consumer_state {
    USERRUN_NONE,
    USERRUN_CREATING,
    USERRUN_THERE,
    USERRUN_ASKING,   /* what it has left */
    USERRUN_DELETING, /* there is nothing */
};

struct userrun;

struct userrun_consumer {
    struct userrun *run;
    int64_t priority;
    enum userrun_consumer_state state;
    bool is_wanted; /* a job came while it was on its way out */
    uint64_t request;
    uint64_t check; /* the request whether it is there; 0: none */
    struct consumer_watch watch;
};

struct userrun {
    struct bus *bus;
    char name[NAMES_RUN_MAX + 1];
    char digest[DIGEST_SIZE]; /* of the isolation that its jobs are to have; FEEDS_ANY */
    int64_t ack_wait_s;
    const struct userrun_ops *ops;
    void *arg;
    struct reader reader;
    bool is_ready;
    struct userrun_consumer consumers[TURNS_PRIORITIES];
    unsigned epoch;
    bool has_traces; /* results or marks at the server */
    int64_t idle_ms; /* since when it has no jobs; INT64_MAX: it has */
    size_t n_sweeps; /* purges without an answer */
};

/* RUN stays where it is for as long as BUS lives. NAME is a new one. 0 or a negative errno. */
int userrun_init(struct userrun *run, struct bus *bus, const char *name, const char *digest,
                 int64_t ack_wait_s, const struct userrun_ops *ops, void *arg);
void userrun_deinit(struct userrun *run);

/* Sees to it that workers can pull jobs of PRIORITY. */
void userrun_want(struct userrun *run, int64_t priority);

/* Notes that a job of this PRIORITY that the queue took long ago has no answer. */
void userrun_note_waiting(struct userrun *run, int64_t priority);

/* Asks the server about the consumers, and makes those again that somebody has deleted; has another
 * server lead those that deliver nothing although jobs were noted to wait since the last check. */
void userrun_check(struct userrun *run);

/* Does what is due. BUSY: the run has jobs. */
void userrun_tick(struct userrun *run, int64_t now, bool busy);

/* Begins to take away what is at the server, at once: the program ends. */
void userrun_leave(struct userrun *run);

/* Whether the server has been told everything. */
bool userrun_is_left(const struct userrun *run);
