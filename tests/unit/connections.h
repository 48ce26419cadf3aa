/* SPDX-License-Identifier: MIT */
#pragma once
/* For tests of connections: an event loop, an environment without limits that matter, and
 * connections whose other ends the test holds. */

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
    struct settings settings; /* one reference, which is never given back */
    struct conn_env env;
    struct conn *conn[CONNECTIONS]; /* NULL: freed */
    int client[CONNECTIONS];
};

static inline void connections_init(struct connections *all, const struct conn_ops *ops,
                                    void *userdata)
{
    *all = (struct connections){.base = event_base_new(), .settings.references = 1};
    assert_non_null(all->base);
    log_init(&all->log, LOG_CRIT, CONFIG_LOG_PLAIN);
    all->env = (struct conn_env){
        .base = all->base,
        .log = &all->log,
        .settings = &all->settings,
        .max_frame = 1u << 20,
        .frame_timeout_ms = 60000,
        .high_water = 1u << 20,
        .receive_bytes = 1u << 20,
        .ops = ops,
        .userdata = userdata,
    };
    TAILQ_INIT(&all->env.waiting);
    TAILQ_INIT(&all->env.parked);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(conn_new(&all->env, fds[0], i + 1, &all->conn[i]), 0);
        all->client[i] = fds[1];
        conn_start(all->conn[i]);
    }
}

/* Handles all events that are due, and those that they bring. */
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

/* To be called from `closed`. */
static inline void connections_free(struct connections *all, struct conn *conn)
{
    for (size_t i = 0; i < CONNECTIONS; i++)
        if (all->conn[i] == conn)
            all->conn[i] = NULL;
    conn_free(conn);
}

static inline void connections_deinit(struct connections *all)
{
    for (size_t i = 0; i < CONNECTIONS; i++) {
        conn_free(all->conn[i]);
        close_fd(all->client[i]);
    }
    log_deinit(&all->log);
    event_base_free(all->base);
}
