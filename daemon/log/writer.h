/* SPDX-License-Identifier: MIT */
#pragma once
/* Writes entries to a descriptor whose other end may not keep up, and never blocks. Keeps what is
 * not taken at once, up to a bound, and writes it when the other end reads again. */

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

/* Maximum bytes kept: about one second of entries at the rate of the shortest jobs. */
#define WRITER_KEPT_MAX ((size_t)4 << 20)

struct writer_entry;

struct writer {
    int fd;
    const char *path; /* address to which FD, a datagram socket, sends; NULL: FD is a stream */
    bool connected;
    TAILQ_HEAD(, writer_entry) kept;
    size_t kept_bytes;
    struct event *event; /* waits for FD while something is kept; NULL: no event loop */
};

/* Starts without entries. The caller keeps FD. PATH is borrowed. WRITER must not move. */
void writer_init(struct writer *writer, int fd, const char *path);

/* Lets events of BASE write what is kept, until writer_detach(). */
void writer_attach(struct writer *writer, struct event_base *base);
void writer_detach(struct writer *writer);

/* Discards what is kept. */
void writer_deinit(struct writer *writer);

/* Writes or keeps one entry of N bytes, whole or not at all. Returns 0 if it is written or kept,
 * -ENOBUFS if there is no room for it, another negative errno if nobody reads. */
int writer_put(struct writer *writer, const char *data, size_t n);

/* Writes as much of what is kept as the other end takes at once. Returns 0 if everything is
 * written, -EAGAIN if not, another negative errno if nobody reads. */
int writer_flush(struct writer *writer);

/* Like writer_flush(), but waits for the other end, for MS milliseconds at most. For the end of the
 * program. */
void writer_finish(struct writer *writer, int ms);
