/* SPDX-License-Identifier: MIT */
/* Watches files of the host that every job shares, to see when others use them. Arguments: the
 * directory; how long to wait, in ms, while the runner uses a file there.
 * Stopped by: seccomp. */
#include "attack.h"

#include <poll.h>
#include <sys/inotify.h>

int main(int argc, char **argv)
{
    const char *directory = argument(argc, argv, 1);
    int fd = inotify_init1(IN_CLOEXEC);
    if (fd < 0) {
        barred("inotify_init1");
        all_barred();
    }
    if (inotify_add_watch(fd, directory, IN_OPEN) < 0) {
        barred("inotify_add_watch %s", directory);
        all_barred();
    }
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    if (poll(&poll_fd, 1, (int)argument_number(argc, argv, 2)) == 1)
        succeeded("somebody opened a file in %s", directory);
    refused("saw nobody in %s", directory);
}
