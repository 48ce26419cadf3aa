/* SPDX-License-Identifier: MIT */
#pragma once
/* One output of a job, a pipe or a socket, read as bytes come or once its writers are gone. The
 * capture counts all of the output and keeps it up to a bound.
 *
 * May include: base and proto.
 *
 * Invariants: at most `keep_max` bytes are kept; a pipe that is at its end is not watched. Output
 * within the bound is kept, or `error` says why it was lost. A
 * capture may be copied only while it is not watched: libevent has its address. */

#include "proto/json.h"

#include <event2/event.h>
#include <stdbool.h>

struct capture;

/* Called after each read with the N bytes that came, and once at end of file with 0. It may close
 * or free the capture. */
typedef void (*capture_callback)(struct capture *capture, size_t n, void *userdata);

/* Called with the N bytes that came, before they are counted. It must not close the capture. */
typedef void (*capture_tell)(struct capture *capture, const char *data, size_t n, void *userdata);

struct capture {
    struct event_base *base;
    struct event *event; /* NULL: not watched */
    int fd;              /* read end, owned; -1: at end of file, or closed */
    struct bytes kept;
    size_t capacity;
    size_t keep_max;
    int error; /* a negative errno: bytes were lost, and `kept` is not what was written; 0: none */
    capture_callback callback;
    capture_tell tell; /* NULL: nobody is told what comes */
    void *userdata;
    bool is_terminal; /* of which the end is an error */
    bool is_paused;   /* nothing is read for now: its writers wait when the pipe is full */
};

#define CAPTURE_NULL \
    {                \
        .fd = -1     \
    }

enum capture_kind {
    CAPTURE_PIPE,
    CAPTURE_SOCKET, /* nobody can open it once more through /proc */
};

/* Takes FD, which is our end of a terminal, does not block and shows what the job writes to it:
 * nothing of that is kept. Reads nothing from it yet. */
void capture_take_terminal(struct capture *capture, int fd, struct event_base *base,
                           capture_callback callback, void *userdata);

/* Opens a pipe or a socket of which up to KEEP_MAX bytes will be kept, and reads nothing from it
 * yet. The caller owns the write end, *ret_write_fd. A negative errno on failure. */
int capture_open(struct capture *capture, enum capture_kind kind, struct event_base *base,
                 size_t keep_max, capture_callback callback, void *userdata, int *ret_write_fd);

/* Reads as bytes come from now on. May be called again. -ENOMEM if the base takes no event. */
int capture_watch(struct capture *capture);

/* Stops reading for a while, or reads on. A capture that is not watched yet stays so, but will not
 * read before it may. */
void capture_pause(struct capture *capture, bool is_paused);

/* Reads what is in a pipe whose writers are believed to be gone. Watches a pipe that has not ended
 * then; fails as capture_watch() does. */
int capture_read_rest(struct capture *capture);

/* Whether the pipe is at its end or was closed. */
static inline bool capture_is_closed(const struct capture *capture)
{
    return capture->fd < 0;
}

/* Stops reading. Keeps the bytes that were read. */
void capture_close(struct capture *capture);

/* Stops reading and frees everything. */
void capture_deinit(struct capture *capture);
