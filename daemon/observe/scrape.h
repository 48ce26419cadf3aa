/* SPDX-License-Identifier: MIT */
#pragma once
/* Serves the metrics over HTTP to Prometheus and the like, on a Unix socket or a loopback address:
 * GET and HEAD of /metrics and nothing else.
 *
 * Clients may be slow, wrong or many. A connection takes one request, of bounded size and time; at
 * most SCRAPE_CONNECTIONS are open, and the oldest make room for more. */

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
#define SCRAPE_SECONDS 10 /* for a request and its reply together */

struct scrape_conn {
    struct bufferevent *bev; /* holds a reference */
    uint64_t since_ns;
};

struct scrape {
    struct evhttp *http; /* owns the listener */
    struct evconnlistener *listener;
    struct event *sweep;                          /* repeated while there are connections */
    struct scrape_conn conns[SCRAPE_CONNECTIONS]; /* the oldest first */
    size_t count;
    char *path; /* owned; unlinked at the end */
    struct log *log;
    /* Prints the metrics; the caller frees the text. 0 or -ENOMEM. */
    int (*print)(enum exposition_format format, struct bytes *ret, void *userdata);
    void *userdata;
};

#define SCRAPE_NULL  \
    {                \
        .http = NULL \
    }

struct scrape_config {
    const char *listen; /* as [metrics] listen; not "" */
    const char *group;  /* of a Unix socket, which has mode 0660 */
    int (*print)(enum exposition_format format, struct bytes *ret, void *userdata);
    void *userdata;
};

/* Binds and listens. SCRAPE must not move. Returns 0 or a negative errno with FAULT; call
 * scrape_deinit() either way. */
int scrape_init(struct scrape *scrape, struct event_base *base, struct log *log,
                const struct scrape_config *config, struct fault *fault);

/* Closes everything. Not from within a request. May be called again. */
void scrape_deinit(struct scrape *scrape);

/* Chooses the format for a client that sends the header ACCEPT (NULL: none): OpenMetrics if it
 * names that and does not prefer text/plain, otherwise the older format, which every scraper reads.
 */
enum exposition_format scrape_negotiate(const char *accept);
