/* SPDX-License-Identifier: MIT */
#pragma once
/* One client: bytes in and out, frames and JSON, high-water marks, its unfinished jobs.
 *
 * A connection stops reading (is "paused") while it has a job that the queue has no room for, or
 * more unsent replies than it should; nothing is refused or dropped for that. It is never freed
 * inside one of its own callbacks: conn_close() puts it on the way out, and `closed` is called from
 * the event loop when nothing of it is in use any more. */

#include "daemon/jobs/jobset.h"
#include "daemon/log/log.h"
#include "daemon/pool/queue.h"
#include "proto/reply.h"
#include "proto/request.h"

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/queue.h>

struct conn;

struct conn_ops {
    /* A valid request of SIZE payload bytes. What the callee does not take of REQUEST is freed. */
    void (*request)(struct conn *conn, struct request *request, size_t size, void *userdata);
    /* The client is gone or is being sent away: its jobs are to be dropped. Called once. */
    void (*gone)(struct conn *conn, void *userdata);
    /* Unsent replies have passed the high-water mark (true), or are below half of it again. */
    void (*choked)(struct conn *conn, bool choked, void *userdata);
    /* The last call: to be answered by conn_free(). */
    void (*closed)(struct conn *conn, void *userdata);
};

/* Shared by all connections. What is configured may change from one event to the next. */
struct conn_env {
    struct event_base *base;
    struct log *log;
    const struct request_policy *policy; /* of requests that come from now on */
    /* Of connections that come from now on: the others were told, or count on, what was before. */
    uint32_t max_frame;
    uint64_t frame_timeout_ms;
    size_t high_water; /* bytes of unsent replies */

    size_t receive_bytes; /* for large frames that are being received, over all connections */
    const struct conn_ops *ops;
    void *userdata;

    size_t reserved;            /* of receive_bytes */
    TAILQ_HEAD(, conn) waiting; /* for receive_bytes */
};

enum conn_state {
    CONN_OPEN,
    CONN_HALF_CLOSED, /* the client has said all that it will and still takes replies */
    CONN_FLUSHING,    /* sent away: what is unsent goes out, nothing is taken in */
    CONN_LINGERING,   /* our side is shut down; what the client still sends is thrown away */
    CONN_CLOSED,      /* waits to be freed */
};

struct conn {
    struct conn_env *env;
    uint64_t number; /* daemon-wide, from 1 */
    struct ucred peer;
    enum conn_state state;
    uint64_t frame_timeout_ms; /* these three: as in env when it was made */
    size_t high_water;
    uint32_t max_frame;
    int hangup_fd; /* a duplicate, watched for the client's going even while nothing is read */
    struct bufferevent *bev;
    struct evbuffer *fresh; /* replies that nobody has tried to send yet */
    struct event *flush_event;
    struct event *hangup_event;
    struct event *timer; /* frame timeout while open, end of lingering later, end of all at last */

    struct request parked; /* a submit that waits for room in the queue */
    size_t parked_size;
    bool is_parked, is_choked;
    size_t reservation;
    bool is_waiting; /* in env->waiting */
    TAILQ_ENTRY(conn) of_waiting;

    /* The supervisor's. */
    TAILQ_ENTRY(conn) of_supervisor;
    TAILQ_ENTRY(conn) of_parked;
    struct settings *parked_settings; /* in force when `parked` was decoded; a reference, or NULL */
    bool in_parked_list;
    struct queue_lane lane;
    struct job_set jobs; /* unfinished */
    unsigned running;
};

/* Takes FD, a connected stream socket, in every case. The connection reads nothing until
 * conn_start(). */
int conn_new(struct conn_env *env, int fd, uint64_t number, struct conn **ret);

void conn_start(struct conn *conn);

/* Sends one frame; takes PAYLOAD. On a connection that is on its way out it is dropped. */
void conn_send(struct conn *conn, struct bytes *payload);

/* Keeps REQUEST (taken) until conn_unpark() and reads nothing meanwhile. */
void conn_park(struct conn *conn, struct request *request, size_t size);

/* Hands the parked request to `request` once more and goes on reading, if it was taken. */
void conn_unpark(struct conn *conn);

/* Sends what is unsent, then closes. */
void conn_close(struct conn *conn);

/* To be called when an unfinished job was answered: a half-closed connection ends when its last
 * answer is on its way. */
void conn_job_finished(struct conn *conn);

size_t conn_unsent(const struct conn *conn);

/* Frees CONN at once, in whatever state; accepts NULL and returns NULL. */
struct conn *conn_free(struct conn *conn);
