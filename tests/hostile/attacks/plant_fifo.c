/* SPDX-License-Identifier: MIT */
/* Plants FIFOs and sockets, to block a process that opens them.
 * Stopped by: tempdir. */
#include "plant.h"

#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
    if (!is_step(argc, argv, "plant"))
        find_plants();
    if (mkfifo(PLANT "fifo", 0666) < 0 || mkdir(PLANT "directory", 0755) < 0 ||
        mkfifo(PLANT "directory/fifo", 0) < 0)
        unclear("mkfifo: %s", errno_name(errno));
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = PLANT "socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        barred("a socket");
    planted();
}
