/* SPDX-License-Identifier: MIT */
#pragma once
/* A client that has connected to `fleet serve`: its bytes and frames, and their bounds. Knows
 * nothing of jobs, nor of NATS.
 *
 * Theory of operation. A caller is not read from while it is parked (its next job waits for room),
 * while it is choked (it leaves too many replies unread), and while the large frames of others take
 * the memory for such frames. A frame that stays incomplete for too long ends the connection, and
 * so do replies that stay unread. caller_enter() alone changes the state, which only moves forward;
 * leaving CALLER_OPEN calls `gone`, once. A caller is freed from the event loop, never inside one
 * of its own callbacks. */

#include "proto/bytes.h"
#include "proto/reply.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/socket.h>

struct caller;

TAILQ_HEAD(caller_list, caller);

struct caller_ops {
    /* A frame of N bytes, borrowed. Returns false if there is no room for what it asks now: the
     * caller is parked, and gets it again from caller_resume(). */
    bool (*request)(struct caller *caller, const char *payload, size_t n, void *arg);
    /* The client is gone or is being dismissed: drop its jobs. */
    void (*gone)(struct caller *caller, void *arg);
    /* It leaves too many replies unread (true), or no longer. */
    void (*choked)(struct caller *caller, bool choked, void *arg);
    /* The last call: the caller is freed behind it. */
    void (*closed)(struct caller *caller, void *arg);
};

struct callers {
    struct event_base *base;
    const struct caller_ops *ops;
    void *arg;
    int64_t frame_timeout_ms, reply_timeout_ms;
    struct caller_list list;   /* all */
    struct caller_list parked; /* oldest first */
    size_t n;
    size_t held;   /* bytes of large frames that are being received */
    size_t unsent; /* bytes of replies that wait, of all of them */
    struct event *reaper;
    uint64_t last_number;
};

enum caller_state {
    CALLER_OPEN,
    CALLER_FLUSHING,  /* sends what is unsent, takes nothing */
    CALLER_LINGERING, /* our side is shut down; what the client still sends is discarded */
    CALLER_OVER,
};

struct caller {
    struct callers *callers;
    uint64_t number; /* from 1 */
    struct ucred peer;
    int fd;
    enum caller_state state;
    uint32_t max_frame; /* 0: it is not read from yet */
    struct evbuffer *in, *out;
    struct event *readable, *writable, *again, *timer, *unread_timer;
    bool read_ended; /* it sends nothing more, and still reads */
    bool is_parked, is_choked, is_waiting;
    bool is_handling;     /* its frames are being handled */
    size_t held, unsent;  /* what it has of callers->held and ->unsent */
    size_t *held_of_user; /* borrowed */
    size_t parked_size;   /* for the owner: what there has to be room for */
    size_t unanswered;    /* jobs, for the owner */
    size_t owed;          /* other answers that are to come, for the owner */
    int64_t since_ms;     /* when it has connected */
    void *of_owner;
    TAILQ_ENTRY(caller) of_list, of_parked;
};

/* CALLERS stays where it is. 0 or -ENOMEM. */
int callers_init(struct callers *callers, struct event_base *base, const struct caller_ops *ops,
                 void *arg);

/* Closes every connection at once; `gone` and `closed` are called. */
void callers_deinit(struct callers *callers);

/* Dismisses those that have gone while they were not read from. To be called now and then. */
void callers_sweep(struct callers *callers);

/* Makes a caller of FD, which is taken in every case. HELD_OF_USER counts what the callers of its
 * user hold, and outlives it. Nothing is read before caller_start(). 0 or a negative errno. */
int caller_new(struct callers *callers, int take_fd, size_t *held_of_user, struct caller **ret);

/* Begins to take frames of at most MAX_FRAME bytes. */
void caller_start(struct caller *caller, uint32_t max_frame);

static inline bool caller_is_served(const struct caller *caller)
{
    return caller->state == CALLER_OPEN;
}

/* Sends PAYLOAD, which is taken, as one frame; drops it if the caller is no longer served. */
void caller_send(struct caller *caller, struct bytes *take_payload);

/* Sends an error. ID may be NULL and JOB_NO 0, as for reply_error(). */
void caller_send_error(struct caller *caller, const struct bytes *id, uint64_t job_no,
                       enum error_code code, const char *message);

/* Gives a parked caller its frame again. */
void caller_resume(struct caller *caller);

/* Closes a half-closed caller that has been answered everything. To be called when UNANSWERED
 * or OWED became smaller. */
void caller_settle(struct caller *caller);

/* Sends what is unsent, then closes. */
void caller_close(struct caller *caller);
