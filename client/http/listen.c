/* SPDX-License-Identifier: MIT */
#include "listen.h"

#include "conf/address.h"
#include "conf/descriptors.h"
#include "proto/util.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#define UNIX_PREFIX "unix:"
#define LOOPBACK_NET 127

static int parse_port(const char *text, in_port_t *ret)
{
    size_t n = strspn(text, "0123456789");
    unsigned long port = n >= 1 && n <= 5 ? strtoul(text, NULL, 10) : UINT16_MAX + 1UL;
    if (text[n] != '\0' || port > UINT16_MAX)
        return -EINVAL;
    *ret = htons((uint16_t)port);
    return 0;
}

static int parse_unix(const char *path, struct listen_address *ret)
{
    struct listen_address address = {.of.local.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (path[0] != '/' || n < 2 || n >= sizeof(address.of.local.sun_path))
        return -EINVAL;
    memcpy(address.of.local.sun_path, path, n);
    address.length = sizeof(address.of.local);
    *ret = address;
    return 0;
}

int listen_parse(const char *text, struct listen_address *ret)
{
    struct listen_address address = {.length = 0};
    if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
        return parse_unix(text + strlen(UNIX_PREFIX), ret);
    const char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
    if (!end || (text[0] == '[' && end[1] != ':'))
        return -EINVAL;
    int r;
    if (text[0] == '[') {
        address.of.ipv6.sin6_family = AF_INET6;
        address.length = sizeof(address.of.ipv6);
        r = address_parse_host(AF_INET6, text + 1, (size_t)(end - text - 1),
                               &address.of.ipv6.sin6_addr);
        r = r < 0 ? r : parse_port(end + 2, &address.of.ipv6.sin6_port);
    } else {
        address.of.ipv4.sin_family = AF_INET;
        address.length = sizeof(address.of.ipv4);
        r = address_parse_host(AF_INET, text, (size_t)(end - text), &address.of.ipv4.sin_addr);
        r = r < 0 ? r : parse_port(end + 1, &address.of.ipv4.sin_port);
    }
    if (r < 0)
        return r;
    *ret = address;
    return 0;
}

bool listen_is_local(const struct listen_address *address)
{
    switch (address->of.generic.sa_family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        return ntohl(address->of.ipv4.sin_addr.s_addr) >> IN_CLASSA_NSHIFT == LOOPBACK_NET;
    case AF_INET6:
        return IN6_IS_ADDR_LOOPBACK(&address->of.ipv6.sin6_addr);
    default:
        return false;
    }
}

bool listen_is_network(const struct listen_address *address)
{
    return address->of.generic.sa_family != AF_UNIX;
}

/* Removes a socket that nobody listens on any more. */
static void remove_stale(const struct listen_address *address)
{
    struct stat st;
    const char *path = address->of.local.sun_path;
    if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return;
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, &address->of.generic, address->length) < 0 && errno == ECONNREFUSED)
        (void)unlink(path);
}

int listen_open(const struct listen_address *address, unsigned mode, int *ret, struct fault *fault)
{
    static const int yes = 1;
    char text[LISTEN_TEXT_MAX];
    bool local = address->of.generic.sa_family == AF_UNIX;
    _cleanup_close_ int fd =
        socket(address->of.generic.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool ok = fd >= 0;
    if (ok && local)
        remove_stale(address);
    else if (ok)
        ok = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0;
    /* Nobody may connect before the socket has its mode. */
    mode_t former = umask(0177);
    ok = ok && bind(fd, &address->of.generic, address->length) == 0;
    int error = errno;
    (void)umask(former);
    errno = error;
    if (ok && local)
        ok = chmod(address->of.local.sun_path, mode) == 0;
    refuse_descriptors(fd);
    if (!ok || listen(fd, SOMAXCONN) < 0) {
        error = errno;
        listen_print(address, text);
        (void)fault_set(fault, "cannot listen on %s: %s%s", text, strerror(error),
                        error == EADDRINUSE ? "; `listen` in http.conf names another address" : "");
        return -error;
    }
    *ret = TAKE_FD(fd);
    return 0;
}

int listen_inherit(int *ret, struct fault *fault)
{
    int n = sd_listen_fds(1);
    if (n <= 0)
        return 0;
    if (n > 1)
        return fault_set(fault, "systemd passes %d sockets, and one can be served", n);
    if (sd_is_socket(SD_LISTEN_FDS_START, AF_UNSPEC, SOCK_STREAM, 1) <= 0)
        return fault_set(fault, "what systemd passes is no socket that listens");
    refuse_descriptors(SD_LISTEN_FDS_START);
    *ret = SD_LISTEN_FDS_START;
    return 1;
}

int listen_find(int fd, struct listen_address *ret)
{
    struct listen_address address = {.length = sizeof(address.of)};
    if (getsockname(fd, &address.of.generic, &address.length) < 0)
        return -errno;
    *ret = address;
    return 0;
}

void listen_print(const struct listen_address *address, char ret[LISTEN_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN] = "?";
    switch (address->of.generic.sa_family) {
    case AF_UNIX:
        (void)snprintf(ret, LISTEN_TEXT_MAX, UNIX_PREFIX "%.108s", address->of.local.sun_path);
        return;
    case AF_INET6:
        (void)inet_ntop(AF_INET6, &address->of.ipv6.sin6_addr, host, sizeof(host));
        (void)snprintf(ret, LISTEN_TEXT_MAX, "[%s]:%u", host, ntohs(address->of.ipv6.sin6_port));
        return;
    default:
        (void)inet_ntop(AF_INET, &address->of.ipv4.sin_addr, host, sizeof(host));
        (void)snprintf(ret, LISTEN_TEXT_MAX, "%s:%u", host, ntohs(address->of.ipv4.sin_port));
    }
}
