/* SPDX-License-Identifier: MIT */
#pragma once
/* The room: sockets. listener.c accepts connections, peer.c tells what a client's account may do,
 * users.c counts what the connections of one user share, receive_budget.c bounds large frames,
 * frame_line.c bounds what they take of a turn of the event loop, and this file serves one client:
 * bytes in and out, frames and JSON, backpressure, unfinished jobs.
 *
 * May include jobs, pool, log, base and the libraries. Knows nothing of the supervisor, which it
 * calls through struct conn_ops.
 *
 * A connection is paused (not read from) while its next job waits for room in the queue ("parked"),
 * while it leaves too many replies unread ("choked"), while the large frames of other connections
 * use up the receive budget ("waiting"), or while its frame stands in line for a turn of the loop.
 * Nothing is refused or dropped for that.
 *
 * Invariants, each kept by one function:
 *  - The state only moves forward. Leaving the states in which requests are served calls `gone`,
 *    once, and unparks the connection.
 *  - A connection is in env->parked exactly while is_parked, and in env->choked exactly while it is
 *    served and is_choked.
 *  - A connection is never freed inside one of its own callbacks: conn_close() starts its end, and
 *    the event loop calls `closed` when nothing uses it any more. It has no jobs by then. */

#include "conn_state.h"
#include "frame_line.h"
#include "outgoing.h"
#include "receive_budget.h"
#include "users.h"

#include "daemon/jobs/jobset.h"
#include "daemon/jobs/puts.h"
#include "daemon/log/log.h"
#include "daemon/pool/queue.h"
#include "proto/reply.h"
#include "proto/request.h"

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/queue.h>

struct conn;

TAILQ_HEAD(conn_list, conn);

struct conn_ops {
    /* A valid request of SIZE payload bytes, decoded under SETTINGS (borrowed). The caller frees
     * what the callee leaves in REQUEST. */
    void (*request)(struct conn *conn, struct request *request, size_t size,
                    struct settings *settings, void *userdata);
    /* The client is gone or is being dismissed: drop its jobs. Called once. */
    void (*gone)(struct conn *conn, void *userdata);
    /* Unsent replies have passed the high-water mark (true), or are below half of it again. */
    void (*choked)(struct conn *conn, bool choked, void *userdata);
    /* They have stayed there for too long. The connection is then closed. */
    void (*left_unread)(struct conn *conn, void *userdata);
    /* The last call: answer it with conn_free(). */
    void (*closed)(struct conn *conn, void *userdata);
};

/* Shared by all connections. A reload may change what is configured between two events. */
struct conn_env {
    struct event_base *base;
    struct log *log;
    struct settings *settings; /* of requests that arrive from now on; borrowed */
    /* Of connections made from now on: the others were told, or rely on, the values before. */
    uint32_t max_frame;
    uint64_t frame_timeout_ms;
    size_t high_water; /* bytes of unsent replies */
    size_t unsent;     /* such bytes of all connections */
    /* Of pauses that begin from now on; 0: without a limit. */
    uint64_t reply_timeout_ms;

    const struct conn_ops *ops;
    void *userdata;

    struct users users;           /* who are connected */
    struct receive_budget budget; /* of large frames */
    struct frame_line line;       /* of frames that take long to handle */
    struct conn_list parked;      /* wait for room in the queue, oldest first */
    struct conn_list choked;      /* are served and choked, oldest first */
};

/* A submit that waits for room in the queue. */
struct parked_request {
    struct request request;
    size_t size;               /* payload bytes */
    struct settings *settings; /* under which it was decoded; a reference */
};

#define PARKED_REQUEST_NULL     \
    {                           \
        .request = REQUEST_NULL \
    }

struct conn {
    struct conn_env *env;
    uint64_t number; /* daemon-wide, from 1 */
    struct ucred peer;
    struct user *user; /* in env->users */
    bool may_share;    /* it is a gateway's */
    bool has_joined;   /* it has decided for which share it is */
    enum conn_state state;
    uint64_t frame_timeout_ms; /* these three: from env when the connection was made */
    size_t high_water;
    uint32_t max_frame;
    int hangup_fd; /* a duplicate, watched for the client's end even while nothing is read */
    struct bufferevent *bev;
    struct evbuffer *fresh; /* replies that no write has been tried for yet */
    struct event *flush_event;
    struct event *hangup_event;
    struct event
        *timer; /* frame timeout while open, then end of flushing or lingering, then free */
    struct event *unread_timer; /* runs while it is choked */
    struct event *again_timer;  /* runs after there was no memory to read */

    size_t unsent;             /* what it has of env->unsent */
    struct last_replies last;  /* while it is flushing */
    bool is_parked, is_choked; /* paused; and so it is while its share is waiting */
    struct parked_request parked;
    struct receive_share receiving; /* of env->budget */
    struct frame_turn turn;         /* in env->line */
    TAILQ_ENTRY(conn) of_parked, of_choked;

    /* For the supervisor. */
    TAILQ_ENTRY(conn) of_supervisor;
    struct queue_lane lane;
    struct job_set jobs; /* unfinished */
    struct put_set puts; /* what it has put for them */
    size_t seen_unread;  /* how much it had left unread when it was last seen to read */
    uint64_t seen_ns;    /* when that was; 0: nobody has looked since it is choked */
    uint64_t choked_ns;  /* when it was choked */
};

/* Makes *RET of FD, a connected stream socket, which is taken in every case. The connection reads
 * nothing until conn_start(). Returns 0 or a negative errno. */
int conn_new(struct conn_env *env, int fd, uint64_t number, struct conn **ret);

void conn_start(struct conn *conn);

/* Whether requests are served and replies are sent. */
static inline bool conn_is_served(const struct conn *conn)
{
    return conn->state == CONN_OPEN || conn->state == CONN_HALF_CLOSED;
}

/* Whether its next job waits for room in the queue. */
static inline bool conn_is_parked(const struct conn *conn)
{
    return conn->is_parked;
}

/* Whether it leaves too many replies unread. */
static inline bool conn_is_choked(const struct conn *conn)
{
    return conn->is_choked;
}

/* The socket; borrowed. */
static inline int conn_fd(const struct conn *conn)
{
    return bufferevent_getfd(conn->bev);
}

/* Sends one frame; takes PAYLOAD. Drops it if the connection is closing. */
void conn_send(struct conn *conn, struct bytes *payload);

/* Sends an error, for which the reserve of memory is given up if need be. Closes the connection if
 * there is no memory even so: nobody waits for an answer that does not come. ID may be NULL and
 * JOB_NO 0, as for reply_error(). */
void conn_send_error(struct conn *conn, const struct bytes *id, uint64_t job_no,
                     enum error_code code, const char *message);

/* Makes CONN one of the gateway's user SHARE; NULL: of none. To be called for each submit, put
 * and session_open: the first one decides. 0; -EEXIST if that was for another; -ENOMEM. */
int conn_join_share(struct conn *conn, const char *share);

/* Decodes the N bytes at TEXT, which CONN has received in one frame, and hands the request to the
 * supervisor, or answers with what is wrong with it. Whatever is in the frame, the next one begins
 * behind it: a bad one costs nobody else's job. */
void conn_read_request(struct conn *conn, const char *text, size_t n);

/* Keeps REQUEST (taken), decoded under SETTINGS (referenced), and pauses the connection until
 * conn_unpark(). For the `request` callback alone. */
void conn_park(struct conn *conn, struct request *request, size_t size, struct settings *settings);

/* Hands the parked request to `request` again; resumes reading unless that parks it again, at the
 * end of the list. */
void conn_unpark(struct conn *conn);

/* Sends what is unsent, then closes. */
void conn_close(struct conn *conn);

/* Dismisses CONN, which is choked, for the replies that it leaves unread. It may still read them.
 */
void conn_dismiss_choked(struct conn *conn);

/* Ends CONN, in whatever state, for the replies that it leaves unread, and drops them. */
void conn_drop(struct conn *conn);

/* Closes a half-closed connection whose last answer is on its way. To be called whenever an
 * unfinished job was answered. */
void conn_job_finished(struct conn *conn);

/* Bytes of replies that the kernel has not taken yet. */
size_t conn_unsent(const struct conn *conn);

/* Dismisses the connection of SHARE, which sends too slowly while others wait for the memory. */
void conn_lose_share(struct receive_share *share);

/* Handles the frame of TURN's connection, which has waited in line. */
void conn_take_turn(struct frame_turn *turn);

/* Frees CONN at once, in whatever state. It has no jobs. Accepts NULL and returns NULL. */
struct conn *conn_free(struct conn *conn);
