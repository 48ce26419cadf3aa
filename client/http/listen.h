/* SPDX-License-Identifier: MIT */
#pragma once
/* The socket on which clients connect: the one that systemd passes, or one made of an address. */

#include "proto/fault.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Room for the text that names an address. */
#define LISTEN_TEXT_MAX 160

struct listen_address {
    union {
        struct sockaddr generic;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
        struct sockaddr_un local;
    } of;
    socklen_t length;
};

/* Parses "unix:/PATH", "A.B.C.D:PORT" or "[IPV6]:PORT". Port 0 leaves the choice to the kernel. 0
 * or -EINVAL. */
int listen_parse(const char *text, struct listen_address *ret);

/* Whether other hosts cannot reach the address: a loopback address, or a Unix socket. */
bool listen_is_local(const struct listen_address *address);

/* Whether it is an address of a network, which a browser can reach. */
bool listen_is_network(const struct listen_address *address);

/* Opens and binds a socket, and listens; a Unix socket gets MODE, and replaces a stale one.
 * Negative errno with FAULT; the caller owns *ret. */
int listen_open(const struct listen_address *address, unsigned mode, int *ret, struct fault *fault);

/* Takes the one socket that systemd passes. 1; 0 if it passes none; -EINVAL with FAULT if it passes
 * several, or something else. */
int listen_inherit(int *ret, struct fault *fault);

/* Finds the address of the socket FD. 0 or a negative errno. */
int listen_find(int fd, struct listen_address *ret);

/* Writes the address as listen_parse() reads it. */
void listen_print(const struct listen_address *address, char ret[LISTEN_TEXT_MAX]);
