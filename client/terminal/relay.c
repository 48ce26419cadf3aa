/* SPDX-License-Identifier: MIT */
#include "relay.h"

#include "proto/util.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

int relay_write(int fd, const char *data, size_t n, int wake_fd)
{
    while (n > 0) {
        struct pollfd fds[] = {{.fd = fd, .events = POLLOUT}, {.fd = wake_fd, .events = POLLIN}};
        if (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
            if (errno != EINTR)
                return -errno;
            continue;
        }
        if (fds[1].revents)
            return -EINTR;
        /* A pipe that is ready takes as much without blocking. To make FD non-blocking would change
         * it for whoever shares it. */
        ssize_t written = write(fd, data, MIN(n, (size_t)PIPE_BUF));
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        data += MAX(written, (ssize_t)0);
        n -= (size_t)MAX(written, (ssize_t)0);
    }
    return 0;
}
