/* SPDX-License-Identifier: MIT */
#pragma once
/* Which connections there may be where clients have tokens.
 *
 * Theory of operation. A connection is a stranger until it has shown a token. Strangers are cheap
 * to make, so they never keep anybody out: when all connections are taken, or an address has its
 * maximum of strangers, the oldest stranger is closed. A quarter of the connections is kept for
 * strangers, as each client begins as one. Of the rest a token may have three times as many as are
 * free. Without tokens nobody is a stranger, and libmicrohttpd counts. */

#include "conn.h"

/* Connections that are ended here are still libmicrohttpd's until it looks at them next; it accepts
 * ten at a time at most. */
#define CROWD_ENDING_MAX 64
#define CROWD_STRANGERS_PART 4

TAILQ_HEAD(conns, conn);

struct crowd {
    struct conns of[CONN_PLACES]; /* each in the order of arrival there */
    size_t count[CONN_PLACES];
    size_t most;
    size_t strangers_per_address;
    bool has_strangers;
};

void crowd_init(struct crowd *crowd, const struct gateway *gateway);

/* Takes in a connection, and ends others that it puts out. */
void crowd_add(struct crowd *crowd, struct conn *conn);
void crowd_remove(struct crowd *crowd, struct conn *conn);

/* The connection has shown TOKEN, the name of one, which is borrowed. False if that has as many
 * connections as it may. */
bool crowd_recognise(struct crowd *crowd, struct conn *conn, const char *token);
