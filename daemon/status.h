/* SPDX-License-Identifier: MIT */
#pragma once
/* The status message: how people look inside. */

#include "conn.h"
#include "log.h"
#include "pool.h"
#include "settings.h"
#include "stats.h"

TAILQ_HEAD(conn_list, conn);

struct status_view {
    const char *version;
    uint64_t started_ns;
    bool draining;
    const struct pool *pool;
    const struct queue *queue;
    const struct conn_list *conns;
    const struct stats *stats;
    const struct settings *settings;
    const struct log *log;
};

/* Clients listed at most; the total is told as well. */
#define STATUS_CLIENTS_MAX 100

/* The payload of a status reply, to be freed. 0 or -ENOMEM. */
int status_reply(const struct status_view *view, struct bytes *ret);
