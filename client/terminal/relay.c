/* SPDX-License-Identifier: MIT */
#include "relay.h"

#include "proto/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* How long a terminal that is ready, and yet takes nothing, is left alone: it has room for one
 * byte, and a line feed is two there. */
#define RETRY_MS 10

/* A terminal that is ready may take one byte, and a write of more would wait. To make FD
 * non-blocking would change it for whoever shares it, so open it once more. -1: it is no terminal,
 * or cannot be. */
static int open_terminal(int fd)
{
    char path[32];
    if (!isatty(fd))
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int relay_write(int fd, const char *data, size_t n, int wake_fd)
{
    _cleanup_close_ int terminal = open_terminal(fd);
    int to = terminal >= 0 ? terminal : fd;
    /* A pipe that is ready takes as much without blocking. */
    const size_t most = terminal < 0 && isatty(fd) ? 1 : PIPE_BUF;
    while (n > 0) {
        struct pollfd fds[] = {{.fd = wake_fd, .events = POLLIN}, {.fd = to, .events = POLLOUT}};
        if (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
            if (errno != EINTR)
                return -errno;
            continue;
        }
        if (fds[0].revents)
            return -EINTR;
        ssize_t written = write(to, data, MIN(n, most));
        if (written < 0 && errno == EAGAIN)
            (void)poll(fds, 1, RETRY_MS);
        else if (written < 0 && errno != EINTR)
            return -errno;
        data += MAX(written, (ssize_t)0);
        n -= (size_t)MAX(written, (ssize_t)0);
    }
    return 0;
}
