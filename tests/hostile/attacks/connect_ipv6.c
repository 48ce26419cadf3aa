/* SPDX-License-Identifier: MIT */
/* Connects to a port of the host by IPv6.
 * Stopped by: network, seccomp. */
#include "attack.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
    struct sockaddr_in6 address = {
        .sin6_family = AF_INET6,
        .sin6_port = htons((uint16_t)argument_number(argc, argv, 1)),
        .sin6_addr = IN6ADDR_LOOPBACK_INIT,
    };
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (fd < 0)
        barred("socket(AF_INET6)");
    else if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        succeeded("connected to [::1]:%s", argv[1]);
    else
        barred("connect to [::1]:%s", argv[1]);
    all_barred();
}
