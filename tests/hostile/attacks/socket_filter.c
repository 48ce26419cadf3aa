/* SPDX-License-Identifier: MIT */
/* Attaches filters to sockets: the kernel compiles them into the store of all of the host's
 * filters (net.core.bpf_jit_limit), without which no jail gets its own. Stopped by: seccomp. */
#include "attack.h"

#include <linux/filter.h>
#include <sys/socket.h>

int main(void)
{
    static struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)};
    struct sock_fprog program = {.len = COUNT_OF(all), .filter = all};
    int pair[2], none = -1;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
        unclear("socketpair: %s", errno_name(errno));
    if (setsockopt(pair[0], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0)
        succeeded("a filter of a socket");
    barred("SO_ATTACH_FILTER");
    static const int others[] = {SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (setsockopt(pair[0], SOL_SOCKET, others[i], &none, sizeof(none)) == 0)
            succeeded("option %d of a socket", others[i]);
        barred("option %d", others[i]);
    }
    all_barred();
}
