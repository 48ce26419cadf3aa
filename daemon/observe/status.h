/* SPDX-License-Identifier: MIT */
#pragma once
/* The room: what people and programs see of the daemon. This file prints the status message;
 * metrics.c lists the metrics, exposition.c writes them and scrape.c serves them over HTTP; stats.c
 * counts, with histogram.c and window.c; joblog.c makes the log entry of a job's end; health.c
 * judges.
 *
 * May include net, jobs, kinds, pool, confine, jail/layers.h, log, base and the libraries.
 *
 * Invariants: it reads the state of other rooms and changes none. Counting a job allocates nothing
 * and calls no kernel. Names and labels of metrics and fields are an interface. */

#include "stats.h"

#include "daemon/jobs/settings.h"
#include "daemon/log/log.h"
#include "daemon/net/conn.h"
#include "daemon/pool/pool.h"

/* The sources of `status` and the metrics; all borrowed. */
struct status_view {
    const char *version;
    uint64_t started_ns;    /* CLOCK_MONOTONIC */
    uint64_t started_at_ns; /* since the epoch */
    uint64_t accepted;      /* connections since the start */
    bool draining;
    bool healthy; /* at the last look */
    const struct pool *pool;
    const struct queue *queue;
    const struct conn_list *conns;
    const struct stats *stats;
    unsigned sessions; /* that are open or end */
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

enum status_slot_state status_slot_state(const struct slot_view *slot);
const char *status_slot_state_name(enum status_slot_state state);

/* Clients listed at most; the reply has their total too. */
#define STATUS_CLIENTS_MAX 100

/* Prints the status reply; the caller frees it. 0 or -ENOMEM. */
int status_reply(const struct status_view *view, struct bytes *ret);
