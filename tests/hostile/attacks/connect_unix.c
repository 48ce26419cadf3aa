/* SPDX-License-Identifier: MIT */
/* Connects to Unix sockets by their path: the daemon's own, or another of the host.
 * Stopped by: filesystem (the path does not exist). Landlock does not hold this. */
#include "attack.h"

#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
    static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", argument(argc, argv, 1));
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        int fd = socket(AF_UNIX, types[i], 0);
        if (fd < 0)
            barred("socket(AF_UNIX, %d)", types[i]);
        else if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
            succeeded("connected to %s", argv[1]);
        else
            barred("connect to %s", argv[1]);
    }
    all_barred();
}
