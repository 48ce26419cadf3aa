/* SPDX-License-Identifier: MIT */
#pragma once
/* Where the daemon may be asked over HTTP, as the configuration names it: the path of a Unix
 * socket, or a loopback address. Names of hosts are not resolved, and what others than this host
 * could reach is refused. Pure. */

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ADDRESS_UNIX_PREFIX "unix:"
#define ADDRESS_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)
#define ADDRESS_TEXT_MAX (sizeof(ADDRESS_UNIX_PREFIX) - 1 + ADDRESS_PATH_MAX)

struct address {
    const char *path; /* borrowed from the text; NULL: it is the other */
    union {
        struct sockaddr generic;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } inet;
    socklen_t inet_length;
};

/* "unix:/PATH", "127.x.x.x:PORT" or "[::1]:PORT", PORT from 1 to 65535. 0 or -EINVAL. */
int address_parse(const char *text, struct address *ret);
