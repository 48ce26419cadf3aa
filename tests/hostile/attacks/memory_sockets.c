/* SPDX-License-Identifier: MIT */
/* Fills kernel memory through pipes and sockets that nobody reads. Argument: MiB.
 * Stopped by: cgroup (memory.max). rlimits (RLIMIT_NOFILE) bound it. */
#include "attack.h"

#include <sys/socket.h>

int main(int argc, char **argv)
{
    static char piece[65536];
    long goal = argument_number(argc, argv, 1) << 20, got = 0;
    while (got < goal) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) {
            barred("socketpair after %ld MiB", got >> 20);
            all_barred();
        }
        ssize_t n;
        for (int end = 0; end < 2; end++)
            while ((n = send(pair[end], piece, sizeof(piece), MSG_DONTWAIT)) > 0)
                got += n;
    }
    succeeded("%ld MiB in sockets", got >> 20);
}
