/* SPDX-License-Identifier: MIT */
#include "writer.h"

#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "proto/util.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct outlet_entry {
    TAILQ_ENTRY(outlet_entry) in_kept;
    size_t n, written;
    char data[];
};

void outlet_init(struct outlet *outlet, int fd, const char *path)
{
    *outlet = (struct outlet){.fd = fd, .path = path};
    TAILQ_INIT(&outlet->kept);
}

/* --- writing ------------------------------------------------------------------------------- */

static int connect_to(struct outlet *outlet)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", outlet->path);
    outlet->connected =
        connect(outlet->fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    return outlet->connected ? 0 : -errno;
}

/* A socket is connected, for that the kernel tells when it can be written to; one whose other end
 * was made anew has to be connected anew. */
static ssize_t send_datagram(struct outlet *outlet, const char *data, size_t n)
{
    for (int attempt = 0;; attempt++) {
        int r = outlet->connected ? 0 : connect_to(outlet);
        if (r < 0)
            return r;
        if (send(outlet->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
            return (ssize_t)n;
        if (errno == EAGAIN || errno == ENOBUFS)
            return 0;
        outlet->connected = false;
        if (attempt > 0)
            return -errno;
    }
}

/* A pipe of which poll() says that it can be written to has room for PIPE_BUF bytes at least; a
 * terminal or a file takes what it is given. */
static ssize_t write_stream(const struct outlet *outlet, const char *data, size_t n)
{
    size_t written = 0;
    while (written < n) {
        struct pollfd fd = {.fd = outlet->fd, .events = POLLOUT};
        if (poll(&fd, 1, 0) != 1 || !(fd.revents & POLLOUT))
            break;
        size_t most = MIN(n - written, (size_t)PIPE_BUF);
        ssize_t k = send(outlet->fd, data + written, most, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (k < 0 && errno == ENOTSOCK)
            k = write(outlet->fd, data + written, most);
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (k <= 0)
            break;
        written += (size_t)k;
    }
    return (ssize_t)written;
}

/* How many of the N bytes were taken, or why none ever will be. */
static ssize_t write_now(struct outlet *outlet, const char *data, size_t n)
{
    return outlet->path ? send_datagram(outlet, data, n) : write_stream(outlet, data, n);
}

/* --- what is kept -------------------------------------------------------------------------- */

static void forget_first(struct outlet *outlet)
{
    struct outlet_entry *entry = TAILQ_FIRST(&outlet->kept);
    TAILQ_REMOVE(&outlet->kept, entry, in_kept);
    outlet->kept_bytes -= entry->n;
    free(entry);
}

static int keep(struct outlet *outlet, const char *data, size_t n, size_t written)
{
    struct outlet_entry *entry = NULL;
    if (outlet->kept_bytes + n <= OUTLET_KEPT_MAX)
        entry = malloc(sizeof(*entry) + n);
    if (!entry)
        return -ENOBUFS;
    entry->n = n;
    entry->written = written;
    memcpy(entry->data, data, n);
    TAILQ_INSERT_TAIL(&outlet->kept, entry, in_kept);
    outlet->kept_bytes += n;
    if (outlet->event)
        (void)event_add(outlet->event, NULL);
    return 0;
}

int outlet_flush(struct outlet *outlet)
{
    struct outlet_entry *entry;
    while ((entry = TAILQ_FIRST(&outlet->kept))) {
        ssize_t n = write_now(outlet, entry->data + entry->written, entry->n - entry->written);
        if (n < 0)
            return (int)n;
        entry->written += (size_t)n;
        if (entry->written < entry->n)
            return -EAGAIN;
        forget_first(outlet);
    }
    return 0;
}

int outlet_put(struct outlet *outlet, const char *data, size_t n)
{
    ssize_t written = outlet_flush(outlet);
    if (written == 0)
        written = write_now(outlet, data, n);
    else if (written == -EAGAIN || !TAILQ_EMPTY(&outlet->kept))
        written = 0; /* it waits in line */
    if (written < 0 || (size_t)written == n)
        return MIN((int)written, 0);
    return keep(outlet, data, n, (size_t)written);
}

void outlet_finish(struct outlet *outlet, int ms)
{
    uint64_t end = clock_now_ns() + (uint64_t)ms * NS_PER_MS;
    while (outlet_flush(outlet) == -EAGAIN && clock_now_ns() < end) {
        struct pollfd fd = {.fd = outlet->fd, .events = POLLOUT};
        (void)poll(&fd, 1, (int)((end - clock_now_ns()) / NS_PER_MS) + 1);
    }
}

/* --- the event loop ------------------------------------------------------------------------ */

static void on_writable(evutil_socket_t fd, short what, void *userdata)
{
    struct outlet *outlet = userdata;
    (void)fd;
    (void)what;
    /* Where nobody is there the socket could be written to all the time: the next entry tries. */
    if (outlet_flush(outlet) == -EAGAIN)
        (void)event_add(outlet->event, NULL);
}

void outlet_attach(struct outlet *outlet, struct event_base *base)
{
    if (outlet->fd < 0 || outlet->event)
        return;
    outlet->event = event_new(base, outlet->fd, EV_WRITE, on_writable, outlet);
    if (outlet->event && !TAILQ_EMPTY(&outlet->kept))
        (void)event_add(outlet->event, NULL);
}

void outlet_detach(struct outlet *outlet)
{
    outlet->event = consume_event(outlet->event);
}

void outlet_deinit(struct outlet *outlet)
{
    outlet_detach(outlet);
    while (!TAILQ_EMPTY(&outlet->kept))
        forget_first(outlet);
}
