/* SPDX-License-Identifier: MIT */
/* Leaves a process that listens on an abstract Unix socket, for the next job to connect to.
 * Arguments: plant or find, a name.
 * Stopped by: tree_kill, pid_namespace. */
#include "plant.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SECONDS 20

int main(int argc, char **argv)
{
    const char *name = argument(argc, argv, 2);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", name);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) {
        barred("socket(AF_UNIX)");
        all_barred();
    }
    if (!is_step(argc, argv, "plant")) {
        if (connect(fd, (struct sockaddr *)&address, length) == 0)
            succeeded("a process of the last job answers at @%s", name);
        barred("connect to @%s", name);
        all_barred();
    }
    if (bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 4) < 0)
        unclear("listen: %s", errno_name(errno));
    if (fork() == 0) {
        (void)setsid();
        for (int i = 0; i < 3; i++)
            (void)close(i);
        (void)sleep(SECONDS);
        _exit(0);
    }
    planted();
}
