/* SPDX-License-Identifier: MIT */
#pragma once
/* A session that a connection has open: a slot of its own, whose jail keeps files and processes
 * from one command to the next. This file has its data and its states; supervisor/sessions.c opens
 * and ends it. A command is a job of kind `session`; a session has at most one.
 *
 *     OPEN ----> ENDING ----> ENDED
 *
 * Invariants:
 *  - session_enter() alone changes the state.
 *  - `job` is the unfinished command: session_begin() sets it, and job_free() resets it by
 *    session_forget().
 *  - A session is freed once it has ended: its slot has stopped, so that no process and no file of
 *    it is left. */

#include "daemon/pool/slot.h"
#include "proto/request.h"

#include <assert.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

struct conn;
struct event;
struct job;
struct settings;

enum session_state {
    SESSION_OPEN,
    SESSION_ENDING, /* its command is to end, then its jail */
    SESSION_ENDED,  /* the slot has stopped */
};

/* Why a session ends. */
enum session_end {
    SESSION_CLOSED,      /* its client asked for it */
    SESSION_CLIENT_GONE, /* so that nobody is told */
    SESSION_LEASE_OVER,
    SESSION_IDLE, /* for too long */
    SESSION_DRAINED,
    SESSION_LOST, /* its jail is */
    SESSION_ENDS,
};

struct session {
    TAILQ_ENTRY(session) link;
    uint64_t number; /* daemon-wide, from 1, never used again */
    enum session_state state;
    enum session_end end;      /* from ENDING on */
    struct conn *conn;         /* NULL: its client is gone */
    struct ucred peer;         /* the client */
    char *share;               /* for which it was opened; owned; NULL: none */
    struct bytes close_id;     /* of the request that ends it; data NULL: none did */
    struct settings *settings; /* under which it was opened; a reference */
    struct session_wish wish;  /* owned */
    struct slot *slot;         /* the pool's */
    struct job *job;           /* its unfinished command; NULL: none */
    struct event *timer;       /* the lease or the idle time may be over */
    uint64_t opened_ns, idle_since_ns, commands;
};

TAILQ_HEAD(session_list, session);

/* The word of the protocol for it. */
const char *session_end_name(enum session_end end);

/* Moves SESSION to STATE, which follows. */
void session_enter(struct session *session, enum session_state state);

/* Takes JOB as the command of an open session that has none. */
void session_begin(struct session *session, struct job *job);

/* The command is over, or was dropped. */
void session_forget(struct session *session);

/* Gives SPEC, a command of SESSION, what holds for the whole session: the limits, unless it sets
 * some that it may set, and the environment. */
void session_settle(const struct session *session, struct job_spec *spec);

/* In how many milliseconds the session is due to end, for the reason *ret_end, if nothing happens
 * before; 0: now. */
uint64_t session_due_ms(const struct session *session, uint64_t now_ns, enum session_end *ret_end);

/* Sets the timer of an open session to when it is due to end. */
void session_arm(struct session *session);

/* Frees SESSION, which has ended or never had a slot. */
void session_free(struct session *session);
