/* SPDX-License-Identifier: MIT */
#pragma once
/* The metrics over HTTP, for Prometheus and its like: on a Unix socket or a loopback address, GET
 * and HEAD of /metrics and nothing else.
 *
 * Whoever connects may be slow, wrong or many: a connection is for one request, of bounded size and
 * time, and at most SCRAPE_CONNECTIONS are open; where more come, the oldest have to go. */

#include "exposition.h"

#include "daemon/log/log.h"
#include "proto/fault.h"
#include "proto/json.h"

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#define SCRAPE_CONNECTIONS 16
#define SCRAPE_HEADERS_MAX 8192
#define SCRAPE_IDLE_S 5
#define SCRAPE_SECONDS 10 /* for all of a request and its reply */

struct scrape_conn {
    struct bufferevent *bev; /* with a reference of our own */
    uint64_t since_ns;
};

struct scrape {
    struct evhttp *http; /* owns the listener */
    struct evconnlistener *listener;
    struct event *sweep;                          /* now and then, while there are connections */
    struct scrape_conn conns[SCRAPE_CONNECTIONS]; /* the oldest first */
    size_t count;
    char *path; /* owned; to be removed at the end */
    struct log *log;
    /* The text, to be freed; 0 or -ENOMEM. */
    int (*print)(enum exposition_format format, struct bytes *ret, void *userdata);
    void *userdata;
};

#define SCRAPE_NULL  \
    {                \
        .http = NULL \
    }

struct scrape_config {
    const char *listen; /* as [metrics] listen; not "" */
    const char *group;  /* of a Unix socket, whose mode is 0660 */
    int (*print)(enum exposition_format format, struct bytes *ret, void *userdata);
    void *userdata;
};

/* Binds and listens. SCRAPE must not move. A negative errno with FAULT; scrape_deinit() frees what
 * there is either way. */
int scrape_init(struct scrape *scrape, struct event_base *base, struct log *log,
                const struct scrape_config *config, struct fault *fault);

/* Closes everything. Not from within a request. May be called again. */
void scrape_deinit(struct scrape *scrape);

/* What a client that sends ACCEPT (NULL: nothing) is answered in: OpenMetrics if it names that and
 * does not like text/plain better, else the older format, which everybody reads. */
enum exposition_format scrape_negotiate(const char *accept);
