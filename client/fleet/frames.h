/* SPDX-License-Identifier: MIT */
#pragma once
/* The daemon's end of a connection: takes frames of a client and sends frames to it, without
 * blocking. */

#include "proto/bytes.h"
#include "proto/fault.h"

#include <event2/buffer.h>
#include <stdbool.h>
#include <stdint.h>

struct frames {
    int fd;
    uint32_t max;    /* the largest frame that is taken, in bytes */
    bool read_ended; /* the client sends nothing more */
    bool is_gone;    /* and reads nothing more */
    struct evbuffer *in, *out;
};

#define FRAMES_NULL \
    {               \
        .fd = -1,   \
    }

/* Takes FD, which is non-blocking, over, also on failure. 0 or -ENOMEM. */
int frames_init(struct frames *frames, int take_fd, uint32_t max);
void frames_deinit(struct frames *frames);

/* What to poll for. HOLD: nothing is read. */
short frames_events(const struct frames *frames, bool hold);

/* Reads and writes as REVENTS allow. */
void frames_pump(struct frames *frames, short revents);

/* Takes the next payload. 1; 0 if there is none yet; -ECONNRESET at the end; -EPROTO with FAULT. */
int frames_next(struct frames *frames, struct bytes *ret, struct fault *fault);

/* Sends the N bytes at TEXT as one frame. */
void frames_send(struct frames *frames, const char *text, size_t n);

size_t frames_unsent(const struct frames *frames);
