/* SPDX-License-Identifier: MIT */
#pragma once
/* The jobs of those who have connected to `fleet serve`.
 *
 * Theory of operation. Each user has a run of its own in the fleet, so that users take turns there
 * as runs do; and in that run the user's connections take turns (turns.h), because no more than
 * about two jobs for each slot of the fleet are in its queue at once, the others wait here. What
 * the fleet knows of a job is its number (serveanswer.h). A job whose client is gone or has
 * cancelled it is an orphan: it has been answered, and stays only until the queue has given it
 * back.
 *
 * What cannot be done now waits: for the connection, for a worker, for room in the queue. After
 * `patience_ms` of the same trouble the waiting is over, and the client gets a retriable error that
 * names it. */

#include "caller.h"
#include "census.h"
#include "runjob.h"
#include "serveputs.h"
#include "turns.h"
#include "userrun.h"

#include "proto/request.h"

struct serve_options {
    const char *name; /* of this host's serve: begins the names of its runs */
    int64_t ack_wait_s, patience_ms, grace_ms;
    size_t max_callers;
    bool mix;
};

/* What the connections of a user share. */
struct serve_user {
    uid_t uid;
    size_t callers;
    size_t held; /* bytes of large frames */
    LIST_ENTRY(serve_user) link;
};

/* The run of a user, for jobs that are to have one isolation. */
struct serve_run {
    struct serve *serve;
    uid_t uid;
    struct userrun run;
    struct turns turns;
    TAILQ_HEAD(, served) sent; /* in the fleet, orphans among them */
    size_t n_sent, n_jobs;     /* n_jobs: those that wait here, too */
    unsigned epoch;
    bool was_lost;       /* the connection, since the jobs were looked for */
    bool lost_end;       /* the results have lost theirs, likewise */
    int64_t again_ms;    /* when to look for jobs that the queue may have lost */
    int64_t homeless_ms; /* since when no host has its isolation; INT64_MAX: one has */
    LIST_ENTRY(serve_run) link;
};

/* What serve keeps of a caller, in its of_owner. */
struct guest {
    struct serve *serve;
    struct caller *caller;
    struct serve_user *user;
    struct serve_run *run; /* NULL until its first job */
    bool is_greeted;
    char digest[DIGEST_SIZE]; /* of the isolation that its hello told */
    size_t jobs_max;          /* that may wait here */
    struct request_policy policy;
    struct turn_lane lane;
    void *by_id; /* tsearch(): its unanswered jobs */
    TAILQ_HEAD(, served) jobs;
    struct serveputs *puts; /* NULL until its first put */
};

struct served {
    struct serve_run *run;
    struct guest *guest; /* NULL: an orphan */
    struct bytes id;
    uint64_t number;
    enum job_kind_id kind;
    char label[64]; /* what it runs, for people */
    struct bytes body;
    char *tests_ref;
    char *bench; /* the rubric that it names: "DIGEST TASK_CLASS"; NULL: none */
    size_t size; /* what it counts in serve->bytes */
    bool is_started;
    int64_t sent_ms;    /* when it was last to be queued */
    struct runjob *job; /* NULL: it waits here */
    struct turn_entry entry;
    TAILQ_ENTRY(served) of_guest, of_run;
};

struct serve {
    struct bus *bus;
    struct event_base *base;
    struct event *unpark;
    struct callers callers;
    struct census census;
    struct serve_options options;
    char instance[9]; /* a number of this start */
    LIST_HEAD(, serve_user) users;
    LIST_HEAD(, serve_run) runs;
    unsigned n_runs;
    void *by_number; /* tsearch(): all jobs but orphans that wait for nothing */
    size_t n_waiting, bytes;
    uint64_t last_no;
    int64_t slots; /* of the fleet */
    struct serveputs_load puts_load;
    char trouble[FAULT_MAX]; /* why nothing goes on; "": it does */
    int64_t trouble_ms;      /* since when */
    bool is_trouble_told;
    json_t *failures;  /* the last ones, the latest first */
    json_t *isolation; /* as a status told it last; NULL: none has */
    int64_t started_ms;
    bool is_draining;
    uint64_t submitted;
};

/* Bounds of what waits here, over all clients. */
#define SERVEJOBS_MAX ((size_t)65536)
#define SERVEJOBS_BYTES_MAX ((size_t)256 << 20)

/* Status and metrics that a client may have asked for without having got the answer. */
#define SERVEJOBS_OWED_MAX 16

/* Makes a guest whose caller is still to come. NULL when memory runs out. */
struct guest *servejobs_guest_new(struct serve *serve, struct serve_user *user);

/* Takes back what GUEST has not been answered, whose client is gone. */
void servejobs_drop_guest(struct guest *guest);

/* The last call. */
void servejobs_guest_free(struct guest *guest);

/* Begins with a job of GUEST, whose FIELDS are valid. Returns false if there is no room for it, so
 * that its caller is to be parked. */
bool servejobs_submit(struct guest *guest, const struct bytes *id, enum job_kind_id kind,
                      const json_t *fields, size_t size);

/* NULL: there is none that has not been answered. */
struct served *servejobs_find_id(const struct guest *guest, const struct bytes *id);
struct served *servejobs_find_number(const struct serve *serve, uint64_t number);

/* Answers SERVED with an error, and takes it back. */
void servejobs_fail(struct served *served, enum error_code code, const char *message);

/* Sends more jobs of RUN into the fleet, as many as there is room for. */
void servejobs_feed(struct serve_run *run);

/* Has callers resumed for whose job there is room, from the event loop. */
void servejobs_unpark(struct serve *serve);

/* What serve->unpark calls; its userdata is the serve. */
void servejobs_on_unpark(evutil_socket_t fd, short what, void *serve);

/* Whether the trouble has lasted for so long that nobody is to wait for its end. */
bool servejobs_is_hopeless(const struct serve *serve, int64_t now);

/* Returns how many have not been answered. */
size_t servejobs_count(const struct serve *serve);

/* Frees runs and what is left of their jobs; no client is there any more. */
void servejobs_deinit(struct serve *serve);
