/* SPDX-License-Identifier: MIT */
#pragma once
/* A daemon of this host, and the jobs that it has of this worker. Knows nothing of NATS.
 *
 * Theory of operation. A lane connects to its socket, again and again if it has to, and asks the
 * daemon for its status once a second: so it knows how many slots there are, and how many of them
 * the jobs of others take. If the connection is lost, every job on it is `lost`: the daemon may
 * have died of one of them. */

#include "client/batch/puts.h"
#include "client/connection/reconnect.h"

#include <sys/queue.h>

#define LANE_ID_SIZE 24

/* Embedded in what wants a job done. */
struct lane_job {
    /* MESSAGE, which may be taken apart, is the answer. The lane has forgotten the job. */
    void (*answered)(struct lane_job *job, struct message *message);
    /* The daemon is gone. The lane has forgotten the job. */
    void (*lost)(struct lane_job *job);
    /* Its program has started; may be NULL. */
    void (*started)(struct lane_job *job);
    char id[LANE_ID_SIZE];     /* on this connection */
    const struct tests *tests; /* NULL: none; borrowed until the answer */
    TAILQ_ENTRY(lane_job) link;
};

struct lane {
    const char *path; /* borrowed */
    struct session session;
    struct reconnect reconnect;
    struct puts puts;
    TAILQ_HEAD(, lane_job) jobs;
    size_t n_jobs;
    uint64_t last_id;
    size_t slots, others;     /* others: slots taken by jobs of other clients */
    size_t reserved;          /* what the worker has put aside of the slots, its jobs among them */
    json_t *status;           /* the daemon's last one; NULL: none has come on this connection */
    int64_t ask_ms;           /* when to ask for the next one */
    uint64_t n_asked, n_told; /* statuses, on all connections */
    /* Both get ON_ARG, and may be NULL. The first: the status is the newest that was asked for so
     * far. The second gets the metrics that lane_ask_metrics() has asked for, in that order; NULL
     * for MESSAGE: the daemon was lost before, once for each that is owed. */
    void (*on_status)(void *arg);
    void (*on_metrics)(void *arg, const struct message *message);
    void *on_arg;
    size_t metrics_owed;
    bool is_silent; /* has complained that there is no daemon */
};

/* LANE stays where it is. 0 or -ENOMEM. */
int lane_init(struct lane *lane, const char *path, int64_t now);
void lane_deinit(struct lane *lane);

/* Whether the daemon is there and has said how many slots it has. */
bool lane_is_ready(const struct lane *lane);

/* How many more jobs the daemon would start at once. */
size_t lane_free(const struct lane *lane);

/* Returns the digest of the daemon's isolation, borrowed; "" if it is not known. */
const char *lane_digest(const struct lane *lane);

/* Likewise of the isolation that jobs have which got the network. */
const char *lane_networked_digest(const struct lane *lane);

/* Whether the daemon has the tests with DIGEST. */
bool lane_has_tests(const struct lane *lane, const char *digest);

/* Submits JOB, whose fields are the N bytes of JSON at TEXT; the lane gives it its id. -EMSGSIZE if
 * the daemon does not take so much; -ENOTCONN; -ENOMEM. */
int lane_submit(struct lane *lane, struct lane_job *job, const char *text, size_t n);

/* Has the daemon cancel JOB, which is answered later. */
void lane_cancel(struct lane *lane, struct lane_job *job);

/* Has the daemon, which is ready, tell its status now. Returns the number of that: it is there once
 * lane->n_told has reached it. */
uint64_t lane_ask_status(struct lane *lane);

/* Has the daemon, which is ready, tell its metrics. */
void lane_ask_metrics(struct lane *lane);

/* What to poll for, and when to call lane_pump() at the latest. */
int lane_fd(const struct lane *lane);
short lane_events(const struct lane *lane);
int64_t lane_due(const struct lane *lane);

/* Reads, writes, connects, and calls what has been answered or lost. */
void lane_pump(struct lane *lane, short revents, int64_t now);
