/* SPDX-License-Identifier: MIT */
#pragma once
/* The status message: how people look inside. */

#include "stats.h"

#include "daemon/jobs/settings.h"
#include "daemon/log/log.h"
#include "daemon/net/conn.h"
#include "daemon/pool/pool.h"

/* What there is to be seen, for status and metrics. */
struct status_view {
    const char *version;
    uint64_t started_ns, started_at_ns; /* the second one since the epoch */
    uint64_t accepted;                  /* connections since the start */
    bool draining;
    bool healthy; /* when the watchdog was to be fed last */
    const struct pool *pool;
    const struct queue *queue;
    const struct conn_list *conns;
    const struct stats *stats;
    const struct settings *settings;
    const struct log *log;
};

enum status_slot_state {
    STATUS_SLOT_IDLE,
    STATUS_SLOT_BUSY,
    STATUS_SLOT_STARTING,
    STATUS_SLOT_BROKEN, /* being replaced */
    STATUS_SLOT_STATES,
};

enum status_slot_state status_slot_state(const struct slot *slot);
const char *status_slot_state_name(enum status_slot_state state);

/* Clients listed at most; the total is told as well. */
#define STATUS_CLIENTS_MAX 100

/* The payload of a status reply, to be freed. 0 or -ENOMEM. */
int status_reply(const struct status_view *view, struct bytes *ret);
