/* SPDX-License-Identifier: MIT */
/* Connects to an abstract Unix socket of the host, which no mount hides.
 * Stopped by: network (abstract names belong to it), landlock (from ABI 6 on). */
#include "attack.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
    const char *name = argument(argc, argv, 1);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", name);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        barred("socket(AF_UNIX)");
    else if (connect(fd, (struct sockaddr *)&address, length) == 0)
        succeeded("connected to @%s", name);
    else
        barred("connect to @%s", name);
    all_barred();
}
