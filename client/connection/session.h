/* SPDX-License-Identifier: MIT */
#pragma once
/* A connection to rubricd: sends and receives frames without blocking, so that replies are read
 * while requests wait to be sent. */

#include "embedded.h"
#include "message.h"

#include <event2/buffer.h>

/* The largest frame that the client accepts from a daemon, in bytes. */
#define SESSION_FRAME_MAX (UINT32_C(64) << 20)

/* How long to wait for the answer to a question; a job has no such limit. */
#define SESSION_ANSWER_MS 10000

struct session {
    int fd;
    bool read_ended;
    bool write_ended;
    struct evbuffer *in;
    struct evbuffer *out;
    struct embedded daemon; /* the private daemon, if it is one */
    char *where;            /* for messages: the socket's path, or "a private rubricd" */
    char *version;          /* of the daemon */
    json_t *host;           /* hostinfo_make() of its hello; a caller may take the reference */
    uint32_t max_frame;     /* the largest frame that the daemon accepts, in bytes */
    int64_t jobs_per_client;
    int64_t slots;
    bool connects_at_once; /* or not at all: session_reconnect() does not wait for a busy daemon */
    bool may_share;        /* the daemon takes names of shares from this client */
    bool warms_modules;    /* the daemon knows `warm_modules` */
    bool reruns_starved;   /* a fleet runs starved jobs again by itself */
    char *bye; /* why the daemon ended the connection, from its `bye`; NULL: none came */
    char *bye_message;
    struct message_tail tail;
};

#define SESSION_NULL                       \
    {                                      \
        .fd = -1, .daemon = EMBEDDED_NULL, \
    }

/* Connects to the socket at PATH. Negative errno with a FAULT that names the cause, but no remedy.
 */
int session_connect(const char *path, struct session *ret, struct fault *fault);

/* Starts a private daemon and connects to it; the arguments are those of embedded_start(). Negative
 * errno with FAULT. */
int session_embed(const char *config, long slots, const char *set, struct session *ret,
                  struct fault *fault);

/* Makes a session with the socket at PATH that is not connected: reconnect_begin() connects it.
 * 0 or -ENOMEM. */
int session_prepare(const char *path, struct session *ret);

/* Makes a session of FD, a connected and non-blocking socket. DAEMON is the program at its other
 * end, whose end the session waits for (EMBEDDED_NULL: none); WHERE names it for messages. Takes FD
 * and DAEMON over, also on failure. Negative errno with FAULT. */
int session_adopt(int take_fd, struct embedded take_daemon, const char *where, struct session *ret,
                  struct fault *fault);

/* Waits for the daemon's hello and checks it as session_take_hello() does. Returns
 * -ETIMEDOUT, or what that returns. */
int session_greet(struct session *session, struct fault *fault);

/* Checks HELLO, the first message, and takes the daemon's limits from it. -ECONNREFUSED if it is an
 * error, -EPROTO if it is another message or protocol, both with FAULT; -ENOMEM. */
int session_take_hello(struct session *session, const struct message *hello, struct fault *fault);

/* Closes the connection, discards all unsent and unread bytes, and forgets a `bye`. */
void session_disconnect(struct session *session);

/* Connects to the same socket again; the hello is still to come. Negative errno with FAULT. */
int session_reconnect(struct session *session, struct fault *fault);

/* Closes the connection, waits for a private daemon to end, and frees everything. */
void session_deinit(struct session *session);
#define _cleanup_session_ _cleanup_(session_deinit)

/* Returns the events to poll session->fd for; with HOLD, reading is left out. */
short session_events(const struct session *session, bool hold);

/* Reads and writes as REVENTS allow. 0 or -ENOMEM; session_next() reports a lost connection, after
 * the messages that came before. */
int session_pump(struct session *session, short revents);

/* Takes the next message. Returns 1 with *ret set; 0 if none is complete yet; -ECONNRESET if the
 * connection is lost, -EPROTO if a message is malformed, both with FAULT, or -ENOMEM. Keeps a `bye`
 * in the session and does not return it. */
int session_next(struct session *session, struct message *ret, struct fault *fault);

/* Queues PAYLOAD of N bytes as one frame. -EMSGSIZE if the daemon would not accept it, -ENOMEM. */
int session_send(struct session *session, const char *payload, size_t n);

/* Returns the bytes that are queued and not yet sent. */
size_t session_unsent(const struct session *session);

/* Waits for the next message, at most until DEADLINE (monotonic_ms(); -1: no limit). Returns 1 with
 * *ret set; -ETIMEDOUT; -EINTR if INTERRUPT_FD, which may be -1, is readable; or as session_next().
 */
int session_wait(struct session *session, int64_t deadline, int interrupt_fd, struct message *ret,
                 struct fault *fault);

/* Sends PAYLOAD, a request, and waits for a message of type WANTED or an `error`, at most until
 * DEADLINE. Complains about other messages and skips them. 0, or a negative errno with FAULT. */
int session_ask(struct session *session, const char *payload, enum message_type wanted,
                int64_t deadline, struct message *ret, struct fault *fault);

/* Complains on stderr that MESSAGE was unexpected. */
void session_unexpected(const struct message *message);
