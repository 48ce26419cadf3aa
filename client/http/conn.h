/* SPDX-License-Identifier: MIT */
#pragma once
/* A client's connection: how long it may take, and whether the client is still there.
 *
 * libmicrohttpd does not notice that a client leaves while the connection is suspended, and not
 * always in the middle of a request: it reads until it has got less than there was room for, and
 * the end that came with these bytes is never reported again. So an event of the connection's own
 * watches for it. The client may do as it likes only while it takes an answer. */

#include "gateway.h"

#include <microhttpd.h>
#include <netinet/in.h>

struct exchange;

enum conn_place {
    CONN_STRANGER, /* it has shown no token */
    CONN_KNOWN,
    CONN_ENDING, /* it had to make room for others */
    CONN_PLACES,
};

struct conn_address {
    sa_family_t family; /* AF_UNSPEC: it is on this host, at a Unix socket */
    struct in6_addr of; /* for IPv4 its first bytes; the others are 0 */
};

struct conn {
    TAILQ_ENTRY(conn) link; /* of the crowd's, at its place */
    enum conn_place place;
    const char *token; /* the name of the last token that it has shown; NULL: none */
    struct conn_address address;
    struct gateway *gateway;
    struct MHD_Connection *mhd;
    int fd;
    struct event *deadline;
    struct event *gone; /* sees the client leave */
    struct event *kick; /* of the server: libmicrohttpd has something to do. Borrowed. */
    bool receives;      /* the client has to send its next request, or the rest of one */
    bool sent_end;      /* ... but has said that it sends no more ... */
    uint64_t unread;    /* ... while so much was unread */
    unsigned untaken;   /* looks in a row that found bytes of which libmicrohttpd takes none ... */
    uint64_t left;      /* ... and how many the last one found */
    bool suspended;
    bool dead;
    struct exchange *exchange; /* NULL between two requests */
};

/* Watches the connection, and gives its first request header_time. NULL for lack of memory. */
struct conn *conn_new(struct gateway *gateway, struct MHD_Connection *mhd, struct event *kick);

/* Returns NULL. */
struct conn *conn_free(struct conn *conn);

/* Sets the time until which the connection must have gone on; 0: it may take as long as it likes.
 */
void conn_deadline(struct conn *conn, uint64_t ms);

/* The client has to send within MS; while the gateway stops, an earlier time stays. */
void conn_receive(struct conn *conn, uint64_t ms);

/* The client has nothing to send, and no time is set. */
void conn_received(struct conn *conn);

/* Looks whether libmicrohttpd takes what the client has sent of a request; it has been run often
 * since the last look. If several looks in a row find that it takes none, it never will, and the
 * connection ends. */
void conn_check_taken(struct conn *conn);

void conn_suspend(struct conn *conn);
void conn_resume(struct conn *conn);

/* Ends the connection after what has been sent to the client. As with conn_kill(), its exchange and
 * the work for it end when libmicrohttpd looks at it next, so both may be called in the middle of
 * that work. */
void conn_end(struct conn *conn);

/* Ends the connection, and drops what the client has not taken. */
void conn_kill(struct conn *conn);
