/* SPDX-License-Identifier: MIT */
#include "conn.h"

#include <assert.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* How often to look whether libmicrohttpd has read what a client sent before its end. */
#define LOOK_AGAIN_US 1000

/* Bytes that come between libmicrohttpd's run and the look are no sign; so many times they are. */
#define UNTAKEN_MAX 6

void conn_deadline(struct conn *conn, uint64_t ms)
{
    const struct timeval tv = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (long)(ms % 1000) * 1000};
    if (ms == 0)
        (void)event_del(conn->deadline);
    else
        (void)event_add(conn->deadline, &tv);
}

void conn_receive(struct conn *conn, uint64_t ms)
{
    if (!conn->receives)
        (void)event_add(conn->gone, NULL);
    conn->receives = true;
    if (!conn->gateway->stopping)
        conn_deadline(conn, ms);
}

void conn_received(struct conn *conn)
{
    conn->receives = false;
    (void)event_del(conn->gone);
    conn_deadline(conn, 0);
}

void conn_suspend(struct conn *conn)
{
    assert(!conn->suspended && !conn->receives);
    conn->suspended = true;
    conn_deadline(conn, 0);
    (void)event_add(conn->gone, NULL);
    MHD_suspend_connection(conn->mhd);
}

void conn_resume(struct conn *conn)
{
    if (!conn->suspended)
        return;
    conn->suspended = false;
    (void)event_del(conn->gone);
    MHD_resume_connection(conn->mhd);
    event_active(conn->kick, EV_READ, 0);
}

void conn_end(struct conn *conn)
{
    if (conn->dead)
        return;
    conn->dead = true;
    conn_received(conn);
    (void)shutdown(conn->fd, SHUT_RDWR);
    conn_resume(conn);
}

void conn_kill(struct conn *conn)
{
    static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    if (conn->dead)
        return;
    /* What the kernel still has for a client that takes nothing would keep its memory for minutes
     * after the end: a reset drops it. */
    (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    conn_end(conn);
}

/* The client was too slow. */
static void on_over(_unused_ evutil_socket_t fd, _unused_ short events, void *userdata)
{
    conn_kill(userdata);
}

/* Returns the bytes that the client has sent and nobody has read. */
static uint64_t count_unread(const struct conn *conn)
{
    int n = 0;
    return ioctl(conn->fd, FIONREAD, &n) < 0 ? UINT64_MAX : (uint64_t)MAX(n, 0);
}

void conn_check_taken(struct conn *conn)
{
    uint64_t unread = conn->receives && conn->exchange ? count_unread(conn) : 0;
    if (unread == 0 || unread < conn->left)
        conn->untaken = 0;
    else if (++conn->untaken == UNTAKEN_MAX)
        conn_kill(conn);
    conn->left = unread;
}

/* The client sends no more, but its request is not complete. What it did send may complete it: so
 * libmicrohttpd reads first what it still can. */
static void on_early_end(struct conn *conn)
{
    static const struct timeval soon = {.tv_usec = LOOK_AGAIN_US};
    uint64_t unread = count_unread(conn);
    if (conn->sent_end && (unread == 0 || unread == conn->unread)) {
        conn_end(conn);
        return;
    }
    conn->sent_end = true;
    conn->unread = unread;
    event_active(conn->kick, EV_READ, 0);
    (void)event_add(conn->gone, &soon);
}

/* Something happened on the connection, which its client may have left. A client that has not read
 * everything leaves with a reset, which libevent reports as EV_READ and not as EV_CLOSED.
 *
 * What the client of a suspended connection has sent is its next request, which stays unread for
 * now; the event is edge-triggered, so it does not come again for it. But if it has sent too much
 * ahead, nobody could tell that it leaves: the end of a connection comes behind what fills its
 * socket. */
static void on_stir(_unused_ evutil_socket_t fd, _unused_ short events, void *userdata)
{
    struct conn *conn = userdata;
    struct pollfd state = {.fd = conn->fd, .events = POLLRDHUP};
    bool left = poll(&state, 1, 0) == 1 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR));
    if (left && conn->receives && !(state.revents & POLLERR))
        on_early_end(conn);
    else if (left ||
             (conn->suspended && count_unread(conn) > conn->gateway->settings->header_bytes))
        conn_kill(conn);
}

static void find_address(struct conn *conn)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const void *address = info ? info->client_addr : NULL;
    if (!address)
        return;
    if (info->client_addr->sa_family == AF_INET)
        memcpy(&conn->address.of, &((const struct sockaddr_in *)address)->sin_addr,
               sizeof(struct in_addr));
    else if (info->client_addr->sa_family == AF_INET6)
        conn->address.of = ((const struct sockaddr_in6 *)address)->sin6_addr;
    else
        return;
    conn->address.family = info->client_addr->sa_family;
}

struct conn *conn_new(struct gateway *gateway, struct MHD_Connection *mhd, struct event *kick)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct conn *conn = calloc(1, sizeof(*conn));
    if (!conn)
        return NULL;
    conn->gateway = gateway;
    conn->mhd = mhd;
    conn->fd = info->connect_fd;
    conn->kick = kick;
    find_address(conn);
    conn->deadline = evtimer_new(gateway->base, on_over, conn);
    conn->gone =
        event_new(gateway->base, conn->fd, EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, on_stir, conn);
    if (!conn->deadline || !conn->gone)
        return conn_free(conn);
    conn_receive(conn, gateway->settings->header_time);
    return conn;
}

struct conn *conn_free(struct conn *conn)
{
    if (conn->deadline)
        event_free(conn->deadline);
    if (conn->gone)
        event_free(conn->gone);
    free(conn);
    return NULL;
}
