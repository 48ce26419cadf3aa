/* SPDX-License-Identifier: MIT */
/* Lists the network interfaces of the host by netlink.
 * Stopped by: network (the job has only a loopback), seccomp. */
#include "attack.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

int main(void)
{
    struct {
        struct nlmsghdr header;
        struct rtgenmsg message;
    } request = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
                   .nlmsg_type = RTM_GETLINK,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .message = {.rtgen_family = AF_UNSPEC},
    };
    static char answer[65536];
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (fd < 0 || send(fd, &request, request.header.nlmsg_len, 0) < 0) {
        barred("a netlink socket");
        all_barred();
    }
    ssize_t n = recv(fd, answer, sizeof(answer), 0);
    int interfaces = 0;
    struct nlmsghdr header;
    for (ssize_t at = 0; at + (ssize_t)sizeof(header) <= n; at += NLMSG_ALIGN(header.nlmsg_len)) {
        (void)memcpy(&header, answer + at, sizeof(header));
        if (header.nlmsg_len < sizeof(header))
            break;
        interfaces += header.nlmsg_type == RTM_NEWLINK;
    }
    if (interfaces > 1)
        succeeded("the host has %d interfaces", interfaces);
    refused("netlink shows %d interface", interfaces);
}
