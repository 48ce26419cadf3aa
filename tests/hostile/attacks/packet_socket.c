/* SPDX-License-Identifier: MIT */
/* Opens packet and raw sockets, to capture traffic and to inject packets.
 * Stopped by: user_namespace (no CAP_NET_RAW), network, seccomp. */
#include "attack.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>

int main(void)
{
    static const struct {
        int family, type, protocol;
        const char *name;
    } sockets[] = {
        {AF_PACKET, SOCK_RAW, ETH_P_ALL, "AF_PACKET, SOCK_RAW"},
        {AF_PACKET, SOCK_DGRAM, ETH_P_ALL, "AF_PACKET, SOCK_DGRAM"},
        {AF_INET, SOCK_RAW, IPPROTO_ICMP, "AF_INET, SOCK_RAW"},
        {AF_INET6, SOCK_RAW, IPPROTO_ICMPV6, "AF_INET6, SOCK_RAW"},
        {AF_INET, SOCK_DGRAM, IPPROTO_ICMP, "AF_INET, SOCK_DGRAM, IPPROTO_ICMP"},
    };
    for (size_t i = 0; i < COUNT_OF(sockets); i++) {
        if (socket(sockets[i].family, sockets[i].type, htons((uint16_t)sockets[i].protocol)) >= 0)
            succeeded("socket(%s)", sockets[i].name);
        barred("socket(%s)", sockets[i].name);
    }
    all_barred();
}
