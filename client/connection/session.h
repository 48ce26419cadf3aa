/* SPDX-License-Identifier: MIT */
#pragma once
/* A connection to rubricd: frames in and out, never blocking, so that replies are read while
 * requests wait to be sent. */

#include "embedded.h"
#include "message.h"

#include <event2/buffer.h>

/* The largest frame that is taken from a daemon. */
#define SESSION_FRAME_MAX (UINT32_C(64) << 20)

/* What every answer to a question (not a job) must beat. */
#define SESSION_ANSWER_MS 10000

struct session {
    int fd;
    bool read_ended;
    bool write_ended;
    struct evbuffer *in;
    struct evbuffer *out;
    struct embedded daemon; /* where it is a private one */
    char *where;            /* for messages: the socket's path, or "a private rubricd" */
    char *version;          /* of the daemon */
    json_t *host;           /* hostinfo_make of its hello; who tells it on may take it */
    uint32_t max_frame;     /* what the daemon takes */
    int64_t jobs_per_client;
    char *bye; /* the reason that the daemon gave for ending the connection */
    char *bye_message;
    struct message_tail tail;
};

#define SESSION_NULL                       \
    {                                      \
        .fd = -1, .daemon = EMBEDDED_NULL, \
    }

/* Connects to the socket at PATH. -errno with a FAULT that names the cause, not yet the remedy. */
int session_connect(const char *path, struct session *ret, struct fault *fault);

/* Starts a private daemon. CONFIG may be NULL, SLOTS 0. */
int session_embed(const char *config, long slots, struct session *ret, struct fault *fault);

/* Waits for the daemon's hello and checks it. */
int session_greet(struct session *session, struct fault *fault);

/* Checks HELLO, the first message that came. -ECONNREFUSED where the daemon refuses, -EPROTO where
 * it is none that is understood, -ENOMEM. */
int session_take_hello(struct session *session, const struct message *hello, struct fault *fault);

/* Closes the connection and forgets what was on its way, in either direction. */
void session_disconnect(struct session *session);

/* Connects again, to where the session was connected before; the hello is still to come. */
int session_reconnect(struct session *session, struct fault *fault);

/* Closes the connection; a private daemon is waited for. */
void session_deinit(struct session *session);
#define _cleanup_session_ _cleanup_(session_deinit)

/* What to poll session->fd for. With HOLD no input is wanted. */
short session_events(const struct session *session, bool hold);

/* Reads and writes what REVENTS allow. Only running out of memory is an error; a lost connection
 * shows in session_next, after what had come before. */
int session_pump(struct session *session, short revents);

/* 1: *RET is the next message. 0: none is complete yet. Negative: the connection is lost or what
 * came cannot be read; FAULT says how it ended. `bye` is kept in the session, never returned. */
int session_next(struct session *session, struct message *ret, struct fault *fault);

/* Queues one frame. -EMSGSIZE where the daemon would not take it, -ENOMEM. */
int session_send(struct session *session, const char *payload, size_t n);

/* Bytes that are queued and not yet sent. */
size_t session_unsent(const struct session *session);

/* Waits for the next message, at most until DEADLINE (monotonic_ms; -1: none). INTERRUPT_FD may be
 * -1. 1, or -ETIMEDOUT, -EINTR (INTERRUPT_FD is readable), or as session_next. */
int session_wait(struct session *session, int64_t deadline, int interrupt_fd, struct message *ret,
                 struct fault *fault);

/* Sends the request that is PAYLOAD and waits for a message of type WANTED or an `error`, at most
 * until DEADLINE; anything else is reported and skipped. 0, or negative with FAULT. */
int session_ask(struct session *session, const char *payload, enum message_type wanted,
                int64_t deadline, struct message *ret, struct fault *fault);

/* Says on stderr that MESSAGE was not expected. */
void session_unexpected(const struct message *message);
