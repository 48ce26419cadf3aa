/* SPDX-License-Identifier: MIT */
#pragma once
/* Parses the address at which the daemon serves HTTP: the path of a Unix socket, or a loopback
 * address. Refuses host names and every address that another host could reach. Pure. */

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ADDRESS_UNIX_PREFIX "unix:"
#define ADDRESS_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)
#define ADDRESS_TEXT_MAX (sizeof(ADDRESS_UNIX_PREFIX) - 1 + ADDRESS_PATH_MAX)

struct address {
    const char *path; /* of a Unix socket, borrowed from the text; NULL: inet holds the address */
    union {
        struct sockaddr generic;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } inet;
    socklen_t inet_length;
};

/* Parses "unix:/PATH", "127.x.x.x:PORT" or "[::1]:PORT", with PORT from 1 to 65535. 0 or -EINVAL.
 */
int address_parse(const char *text, struct address *ret);

/* Parses the N bytes at TEXT as a numeric address of FAMILY, AF_INET or AF_INET6, into RET, a
 * struct in_addr or in6_addr. 0 or -EINVAL. */
int address_parse_host(int family, const char *text, size_t n, void *ret);
