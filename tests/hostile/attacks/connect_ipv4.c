/* SPDX-License-Identifier: MIT */
/* Connects to a port of the host by IPv4: TCP, then a datagram.
 * Stopped by: network, seccomp. */
#include "attack.h"

#include <arpa/inet.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)argument_number(argc, argv, 1)),
        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
    };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        barred("socket(AF_INET, SOCK_STREAM)");
    else if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        succeeded("connected to 127.0.0.1:%s", argv[1]);
    else
        barred("connect to 127.0.0.1:%s", argv[1]);
    address.sin_addr.s_addr = htonl(0x08080808); /* a route out is enough: nothing is sent */
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0)
        barred("socket(AF_INET, SOCK_DGRAM)");
    else if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        succeeded("there is a route to 8.8.8.8");
    else
        barred("a route to 8.8.8.8");
    all_barred();
}
