/* SPDX-License-Identifier: MIT */
/* Fills the working directory with small files, waits until somebody must have looked at it, and
 * makes room again, so that nothing of it is left to be seen at the end. Arguments: how many MiB
 * are too many, and for how many milliseconds to wait. Stopped by: filesystem (a tmpfs of bounded
 * size). */
#include "attack.h"

#include <poll.h>

#define PIECE (1 << 20)

static bool fill_file(const char *name)
{
    static char piece[PIECE];
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n = fd < 0 ? -1 : write(fd, piece, sizeof(piece));
    if (fd >= 0)
        (void)close(fd);
    if (n >= 0 && n < (ssize_t)sizeof(piece))
        errno = ENOSPC;
    return n == (ssize_t)sizeof(piece);
}

int main(int argc, char **argv)
{
    char name[32];
    long goal = argument_number(argc, argv, 1), written = 0;
    do
        (void)snprintf(name, sizeof(name), "full-%ld", written);
    while (fill_file(name) && ++written < goal);
    if (written >= goal)
        succeeded("%ld MiB on disk", written);
    barred("after %ld MiB", written);
    (void)poll(NULL, 0, (int)argument_number(argc, argv, 2));
    for (; written >= 0; written--) {
        (void)snprintf(name, sizeof(name), "full-%ld", written);
        (void)unlink(name);
    }
    all_barred();
}
