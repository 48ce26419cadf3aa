/* SPDX-License-Identifier: MIT */
#pragma once
/* One output pipe of a job, read as it streams, or once its writers are gone: counted in full, kept
 * up to a bound. */

#include "proto/json.h"

#include <event2/event.h>
#include <stdbool.h>

struct capture;

/* Called after each read (N bytes came) and once at end of file (N is 0). */
typedef void (*capture_callback)(struct capture *capture, size_t n, void *userdata);

struct capture {
    struct event_base *base;
    struct event *event; /* NULL: not watched */
    int fd;              /* read end, -1 where there is none */
    struct bytes kept;
    size_t capacity;
    size_t keep_max;
    capture_callback callback;
    void *userdata;
};

#define CAPTURE_NULL \
    {                \
        .fd = -1     \
    }

/* Opens a pipe of which up to KEEP_MAX bytes will be kept; nothing is read from it yet. The write
 * end is returned in *ret_write_fd and is the caller's to close. */
int capture_open(struct capture *capture, struct event_base *base, size_t keep_max,
                 capture_callback callback, void *userdata, int *ret_write_fd);

/* Reads from now on as bytes come; may be called again. -ENOMEM if the base takes no event. */
int capture_watch(struct capture *capture);

/* Reads what is there; its writers are believed to be gone. What does not end is watched, with the
 * errors of that. */
int capture_read_rest(struct capture *capture);

/* Whether the pipe is at its end or was given up. */
static inline bool capture_is_closed(const struct capture *capture)
{
    return capture->fd < 0;
}

/* Stops reading; what was kept stays. */
void capture_close(struct capture *capture);

/* Stops reading and frees what was kept. */
void capture_deinit(struct capture *capture);
