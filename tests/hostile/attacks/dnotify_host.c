/* SPDX-License-Identifier: MIT */
/* Counts when others read files of the host that every job shares, by F_NOTIFY. Arguments: the
 * directory; how long to wait, in ms, while the runner reads a file there.
 * Stopped by: seccomp. */
#include "attack.h"

int main(int argc, char **argv)
{
    const char *directory = argument(argc, argv, 1);
    long wait_ms = argument_number(argc, argv, 2);
    struct timespec wait = {wait_ms / 1000, wait_ms % 1000 * 1000000};
    sigset_t io;
    (void)sigemptyset(&io);
    (void)sigaddset(&io, SIGIO);
    (void)sigprocmask(SIG_BLOCK, &io, NULL);
    int fd = open(directory, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        unclear("open %s: %s", directory, errno_name(errno));
    if (fcntl(fd, F_NOTIFY, DN_ACCESS | DN_MULTISHOT) < 0) {
        barred("fcntl(F_NOTIFY) of %s", directory);
        all_barred();
    }
    if (sigtimedwait(&io, NULL, &wait) == SIGIO)
        succeeded("somebody read a file in %s", directory);
    refused("saw nobody in %s", directory);
}
