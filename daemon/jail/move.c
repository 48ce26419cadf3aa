/* SPDX-License-Identifier: MIT */
#include "move.h"

#include "proto/util.h"

#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)16 << 10)

/* Writes all of it. Returns 0 or a negative errno. */
static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno != EINTR)
            return -errno;
        bytes += MAX(n, (ssize_t)0);
        length -= (size_t)MAX(n, (ssize_t)0);
    }
    return 0;
}

static ssize_t read_some(int fd, off_t *at, char *bytes, size_t size)
{
    ssize_t n;
    do
        n = at ? pread(fd, bytes, size, *at) : read(fd, bytes, size);
    while (n < 0 && errno == EINTR);
    if (n > 0 && at)
        *at += n;
    return n < 0 ? -errno : n;
}

int64_t move_bytes(int from, off_t *at, int to, uint64_t most)
{
    char bytes[PIECE];
    uint64_t done = 0;
    int64_t r = 0;
    while (done < most && r == 0) {
        ssize_t n = read_some(from, at, bytes, MIN(most - done, (uint64_t)sizeof(bytes)));
        if (n <= 0) {
            r = n;
            break;
        }
        r = write_all(to, bytes, (size_t)n);
        done += (uint64_t)n;
    }
    explicit_bzero(bytes, sizeof(bytes));
    return r < 0 ? r : (int64_t)done;
}

ssize_t move_away(int from)
{
    char bytes[PIECE];
    ssize_t n = read_some(from, NULL, bytes, sizeof(bytes));
    explicit_bzero(bytes, sizeof(bytes));
    return n;
}

/* A write of at most PIPE_BUF bytes is all or nothing. */
ssize_t move_to_pipe(int from, int to, int wait_ms)
{
    char bytes[PIPE_BUF];
    struct pollfd room = {.fd = to, .events = POLLOUT};
    ssize_t n = read_some(from, NULL, bytes, sizeof(bytes)), written = n;
    if (n > 0)
        while ((written = write(to, bytes, (size_t)n)) < 0 &&
               (errno == EINTR || (errno == EAGAIN && poll(&room, 1, wait_ms) > 0)))
            continue;
    int error = errno;
    explicit_bzero(bytes, sizeof(bytes));
    if (written >= 0 || n <= 0)
        return n;
    return error == EAGAIN ? -ENOBUFS : -error;
}
