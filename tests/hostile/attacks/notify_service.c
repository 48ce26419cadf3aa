/* SPDX-License-Identifier: MIT */
/* Notifies the service manager in the daemon's name: that it is ready, or stuck.
 * Argument: the path of the socket, or @NAME.
 * Stopped by: filesystem (a path), network (an abstract name). */
#include "attack.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
    static const char message[] = "STATUS=forged by a job\nWATCHDOG=trigger";
    const char *name = argument(argc, argv, 1);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (fd < 0)
        barred("socket(AF_UNIX, SOCK_DGRAM)");
    else if (sendto(fd, message, strlen(message), 0, (struct sockaddr *)&address, length) > 0)
        succeeded("the service manager was told: %s", message);
    else
        barred("sendto %s", name);
    all_barred();
}
