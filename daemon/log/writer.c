/* SPDX-License-Identifier: MIT */
#include "writer.h"

#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "proto/util.h"

#include <assert.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct writer_entry {
    TAILQ_ENTRY(writer_entry) in_kept;
    size_t n, written;
    char data[];
};

void writer_init(struct writer *writer, int fd, const char *path)
{
    *writer = (struct writer){.fd = fd, .path = path};
    TAILQ_INIT(&writer->kept);
}

/* --- writing ------------------------------------------------------------------------------- */

static int connect_to(struct writer *writer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", writer->path);
    writer->connected =
        connect(writer->fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    return writer->connected ? 0 : -errno;
}

/* Connects the socket, because the kernel tells only of a connected one when it can be written to.
 * Connects again if the other end was replaced. */
static ssize_t send_datagram(struct writer *writer, const char *data, size_t n)
{
    for (int attempt = 0;; attempt++) {
        int r = writer->connected ? 0 : connect_to(writer);
        if (r < 0)
            return r;
        if (send(writer->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
            return (ssize_t)n;
        if (errno == EAGAIN || errno == ENOBUFS)
            return 0;
        writer->connected = false;
        if (attempt > 0)
            return -errno;
    }
}

/* If poll() says that a pipe is writable, it has room for PIPE_BUF bytes at least; terminals and
 * files take what they are given. */
static ssize_t write_stream(const struct writer *writer, const char *data, size_t n)
{
    size_t written = 0;
    while (written < n) {
        struct pollfd fd = {.fd = writer->fd, .events = POLLOUT};
        if (poll(&fd, 1, 0) != 1 || !(fd.revents & POLLOUT))
            break;
        size_t most = MIN(n - written, (size_t)PIPE_BUF);
        ssize_t k = send(writer->fd, data + written, most, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (k < 0 && errno == ENOTSOCK)
            k = write(writer->fd, data + written, most);
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (k <= 0)
            break;
        written += (size_t)k;
    }
    return (ssize_t)written;
}

/* Returns how many of the N bytes were taken, or a negative errno if none ever will be. */
static ssize_t write_now(struct writer *writer, const char *data, size_t n)
{
    return writer->path ? send_datagram(writer, data, n) : write_stream(writer, data, n);
}

/* --- what is kept -------------------------------------------------------------------------- */

static void forget_first(struct writer *writer)
{
    struct writer_entry *entry = TAILQ_FIRST(&writer->kept);
    assert(writer->kept_bytes >= entry->n && entry->written <= entry->n);
    TAILQ_REMOVE(&writer->kept, entry, in_kept);
    writer->kept_bytes -= entry->n;
    free(entry);
}

static int keep(struct writer *writer, const char *data, size_t n, size_t written)
{
    struct writer_entry *entry = NULL;
    if (writer->kept_bytes + n <= WRITER_KEPT_MAX)
        entry = malloc(sizeof(*entry) + n);
    if (!entry)
        return -ENOBUFS;
    entry->n = n;
    entry->written = written;
    memcpy(entry->data, data, n);
    TAILQ_INSERT_TAIL(&writer->kept, entry, in_kept);
    writer->kept_bytes += n;
    if (writer->event)
        (void)event_add(writer->event, NULL);
    return 0;
}

int writer_flush(struct writer *writer)
{
    struct writer_entry *entry;
    while ((entry = TAILQ_FIRST(&writer->kept))) {
        ssize_t n = write_now(writer, entry->data + entry->written, entry->n - entry->written);
        if (n < 0)
            return (int)n;
        entry->written += (size_t)n;
        if (entry->written < entry->n)
            return -EAGAIN;
        forget_first(writer);
    }
    return 0;
}

int writer_put(struct writer *writer, const char *data, size_t n)
{
    ssize_t written = writer_flush(writer);
    if (written == 0)
        written = write_now(writer, data, n);
    else if (written == -EAGAIN || !TAILQ_EMPTY(&writer->kept))
        written = 0; /* keep it behind the others */
    if (written < 0 || (size_t)written == n)
        return MIN((int)written, 0);
    return keep(writer, data, n, (size_t)written);
}

void writer_finish(struct writer *writer, int ms)
{
    uint64_t end = clock_now_ns() + (uint64_t)ms * NS_PER_MS;
    while (writer_flush(writer) == -EAGAIN && clock_now_ns() < end) {
        struct pollfd fd = {.fd = writer->fd, .events = POLLOUT};
        (void)poll(&fd, 1, (int)((end - clock_now_ns()) / NS_PER_MS) + 1);
    }
}

/* --- the event loop ------------------------------------------------------------------------ */

static void on_writable(evutil_socket_t fd, short what, void *userdata)
{
    struct writer *writer = userdata;
    (void)fd;
    (void)what;
    /* Do not wait again if nobody reads: the socket would be writable all the time. The next entry
     * tries again. */
    if (writer_flush(writer) == -EAGAIN)
        (void)event_add(writer->event, NULL);
}

void writer_attach(struct writer *writer, struct event_base *base)
{
    if (writer->fd < 0 || writer->event)
        return;
    writer->event = event_new(base, writer->fd, EV_WRITE, on_writable, writer);
    if (writer->event && !TAILQ_EMPTY(&writer->kept))
        (void)event_add(writer->event, NULL);
}

void writer_detach(struct writer *writer)
{
    writer->event = consume_event(writer->event);
}

void writer_deinit(struct writer *writer)
{
    writer_detach(writer);
    while (!TAILQ_EMPTY(&writer->kept))
        forget_first(writer);
    assert(writer->kept_bytes == 0);
}
