/* SPDX-License-Identifier: MIT */
#include "address.h"

#include "proto/util.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

#define LOOPBACK_NET 127

/* Accepts decimal digits only: no sign, no space, no leading 0. */
static int parse_port(const char *text, in_port_t *ret)
{
    unsigned long port = 0;
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 5 || text[n] != '\0' || text[0] == '0')
        return -EINVAL;
    port = strtoul(text, NULL, 10);
    if (port > UINT16_MAX)
        return -EINVAL;
    *ret = htons((uint16_t)port);
    return 0;
}

int address_parse_host(int family, const char *text, size_t n, void *ret)
{
    char host[INET6_ADDRSTRLEN];
    if (n >= sizeof(host))
        return -EINVAL;
    memcpy(host, text, n);
    host[n] = '\0';
    return inet_pton(family, host, ret) == 1 ? 0 : -EINVAL;
}

static int parse_ipv6(const char *text, struct address *ret)
{
    const char *end = strchr(text, ']');
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    if (!end || end[1] != ':' ||
        address_parse_host(AF_INET6, text + 1, (size_t)(end - text - 1), &address.sin6_addr) < 0 ||
        !IN6_IS_ADDR_LOOPBACK(&address.sin6_addr) || parse_port(end + 2, &address.sin6_port) < 0)
        return -EINVAL;
    *ret = (struct address){.inet.ipv6 = address, .inet_length = sizeof(address)};
    return 0;
}

static int parse_ipv4(const char *text, struct address *ret)
{
    const char *end = strchr(text, ':');
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (!end || address_parse_host(AF_INET, text, (size_t)(end - text), &address.sin_addr) < 0 ||
        ntohl(address.sin_addr.s_addr) >> IN_CLASSA_NSHIFT != LOOPBACK_NET ||
        parse_port(end + 1, &address.sin_port) < 0)
        return -EINVAL;
    *ret = (struct address){.inet.ipv4 = address, .inet_length = sizeof(address)};
    return 0;
}

int address_parse(const char *text, struct address *ret)
{
    static const size_t prefix = sizeof(ADDRESS_UNIX_PREFIX) - 1;
    if (strncmp(text, ADDRESS_UNIX_PREFIX, prefix) != 0)
        return text[0] == '[' ? parse_ipv6(text, ret) : parse_ipv4(text, ret);
    size_t length = strlen(text + prefix);
    if (text[prefix] != '/' || length < 2 || length > ADDRESS_PATH_MAX)
        return -EINVAL;
    *ret = (struct address){.path = text + prefix};
    return 0;
}
