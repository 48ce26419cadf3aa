/* SPDX-License-Identifier: MIT */
#pragma once
/* For tests of connections: an event loop, an environment with ample limits, and connections whose
 * other ends the test holds. The test handles the requests. */

#include "daemon/base/events.h"
#include "daemon/jobs/settings.h"
#include "daemon/net/conn.h"
#include "proto/frame.h"
#include "proto/util.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define CONNECTIONS 3

struct connections {
    struct event_base *base;
    struct log log;
    struct settings settings; /* has one reference, which is never dropped */
    struct conn_env env;
    struct conn *conn[CONNECTIONS]; /* NULL: freed */
    int client[CONNECTIONS];
    void (*request)(struct connections *all, struct conn *conn, size_t size,
                    const struct settings *settings); /* called for requests that are not parked */
    bool parks;                                       /* park each request */
    unsigned requests, gone, left_unread, closed;     /* numbers of calls */
};

static inline void connections_on_request(struct conn *conn, struct request *request, size_t size,
                                          struct settings *settings, void *userdata)
{
    struct connections *all = userdata;
    all->requests++;
    if (all->parks)
        conn_park(conn, request, size, settings);
    else
        all->request(all, conn, size, settings);
}

static inline void connections_on_gone(struct conn *conn, void *userdata)
{
    struct connections *all = userdata;
    assert_false(conn_is_parked(conn));
    all->gone++;
}

static inline void connections_on_choked(struct conn *conn, bool choked, void *userdata)
{
    (void)conn;
    (void)choked;
    (void)userdata;
}

static inline void connections_on_closed(struct conn *conn, void *userdata)
{
    struct connections *all = userdata;
    for (size_t i = 0; i < CONNECTIONS; i++)
        if (all->conn[i] == conn)
            all->conn[i] = NULL;
    all->closed++;
    conn_free(conn);
}

static inline void connections_on_left_unread(struct conn *conn, void *userdata)
{
    struct connections *all = userdata;
    (void)conn;
    all->left_unread++;
}

static const struct conn_ops connections_ops = {
    .request = connections_on_request,
    .gone = connections_on_gone,
    .choked = connections_on_choked,
    .left_unread = connections_on_left_unread,
    .closed = connections_on_closed,
};

static inline void connections_init(struct connections *all,
                                    void (*request)(struct connections *all, struct conn *conn,
                                                    size_t size, const struct settings *settings))
{
    *all = (struct connections){
        .base = event_base_new(), .settings.references = 1, .request = request};
    assert_non_null(all->base);
    log_init(&all->log, LOG_CRIT, CONFIG_LOG_PLAIN);
    all->env = (struct conn_env){
        .base = all->base,
        .log = &all->log,
        .settings = &all->settings,
        .max_frame = 1u << 20,
        .frame_timeout_ms = 60000,
        .high_water = 1u << 20,
        .ops = &connections_ops,
        .userdata = all,
    };
    assert_int_equal(receive_budget_init(&all->env.budget, all->base, conn_lose_share), 0);
    receive_budget_bound(&all->env.budget, 1u << 20, 1000);
    assert_int_equal(frame_line_init(&all->env.line, all->base, conn_take_turn), 0);
    users_init(&all->env.users);
    TAILQ_INIT(&all->env.parked);
    TAILQ_INIT(&all->env.choked);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(conn_new(&all->env, fds[0], i + 1, &all->conn[i]), 0);
        all->client[i] = fds[1];
        conn_start(all->conn[i]);
    }
}

/* Handles all pending events, and those that they cause. */
static inline void connections_turn(struct connections *all)
{
    for (unsigned i = 0; i < 10; i++)
        (void)event_base_loop(all->base, EVLOOP_NONBLOCK);
}

static inline void connections_send(struct connections *all, size_t i, const char *text)
{
    uint8_t header[FRAME_HEADER_SIZE];
    frame_write_header(header, (uint32_t)strlen(text));
    assert_int_equal(write(all->client[i], header, sizeof(header)), sizeof(header));
    assert_int_equal(write(all->client[i], text, strlen(text)), strlen(text));
}

#define PING "{\"type\":\"ping\"}"

/* Sends a request on connection I and parks it. */
static inline void connections_park(struct connections *all, size_t i)
{
    all->parks = true;
    connections_send(all, i, PING);
    connections_turn(all);
    all->parks = false;
    assert_true(conn_is_parked(all->conn[i]));
}

static inline void connections_deinit(struct connections *all)
{
    for (size_t i = 0; i < CONNECTIONS; i++) {
        conn_free(all->conn[i]);
        close_fd(all->client[i]);
    }
    receive_budget_deinit(&all->env.budget);
    frame_line_deinit(&all->env.line);
    log_deinit(&all->log);
    event_base_free(all->base);
}
