/* SPDX-License-Identifier: MIT */
#pragma once
/* libmicrohttpd in an event loop of libevent, and what is checked of each request before its route
 * sees it. */

#include "gateway.h"

struct server;

/* Serves the socket TAKE_LISTEN_FD, which libmicrohttpd closes. Negative errno with FAULT. */
int server_new(struct gateway *gateway, int take_listen_fd, struct server **ret,
               struct fault *fault);

/* From then on, bodies that are still to come have this time. */
#define SERVER_STOP_BODY_MS 1000

/* Refuses further connections and requests, and calls IDLE once no request is under way. */
void server_drain(struct server *server, void (*idle)(void *userdata), void *userdata);

/* Closes all connections. Accepts NULL and returns NULL. */
struct server *server_free(struct server *server);
