/* SPDX-License-Identifier: MIT */
#pragma once
/* Writes entries to a descriptor that may not keep up, and never waits: what is not taken at once
 * is kept, up to a bound, and written when the other end reads again. */

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

/* Bytes kept at most: about as many entries as a second of the shortest jobs has. */
#define WRITER_KEPT_MAX ((size_t)4 << 20)

struct writer_entry;

struct writer {
    int fd;
    const char *path; /* where FD, a datagram socket, sends; NULL: FD is a stream */
    bool connected;
    TAILQ_HEAD(, writer_entry) kept;
    size_t kept_bytes;
    struct event *event; /* while something is kept; NULL: there is no event loop */
};

/* FD stays the caller's. PATH is borrowed. OUTLET must not move. */
void writer_init(struct writer *writer, int fd, const char *path);

/* From here on what is kept is written by the events of BASE; until writer_detach(). */
void writer_attach(struct writer *writer, struct event_base *base);
void writer_detach(struct writer *writer);

/* Forgets what is kept. */
void writer_deinit(struct writer *writer);

/* One entry of N bytes, whole or not at all. 0: it is written or kept. -ENOBUFS: there is no room
 * for it. Another negative errno: nobody is there. */
int writer_put(struct writer *writer, const char *data, size_t n);

/* Writes of what is kept what is taken at once. 0: all is written. -EAGAIN: not yet. Another
 * negative errno: nobody is there. */
int writer_flush(struct writer *writer);

/* The same, and waits for the other end, MS milliseconds at most: for the end of a program. */
void writer_finish(struct writer *writer, int ms);
