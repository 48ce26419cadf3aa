/* SPDX-License-Identifier: MIT */
#pragma once
/* libmicrohttpd in an event loop of libevent, and what is checked of each request before its route
 * sees it. */

#include "gateway.h"

struct server;

/* Serves the socket TAKE_LISTEN_FD, which libmicrohttpd closes. Negative errno with FAULT. */
int server_new(struct gateway *gateway, int take_listen_fd, struct server **ret,
               struct fault *fault);

/* Refuses further connections, and calls IDLE once no request is under way. */
void server_drain(struct server *server, void (*idle)(void *userdata), void *userdata);

/* Closes all connections. Accepts NULL and returns NULL. */
struct server *server_free(struct server *server);
