/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "proto/util.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

static bool same_file(const struct stat *st, const char *path)
{
    struct stat other;
    int r = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &other) : stat(path, &other);
    return r == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

static int open_file(const char *path, bool force, const char *const *inputs, size_t n, int *ret,
                     struct fault *fault)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (force ? 0 : O_EXCL);
    _cleanup_close_ int fd = open(path, flags, 0666);
    struct stat st;
    if (fd < 0 && errno == EEXIST)
        return fault_set(fault, "%s is there already; --force overwrites it", path);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fault_set(fault, "cannot write %s: %s", path, strerror(errno));
    for (size_t i = 0; i < n; i++)
        if (same_file(&st, inputs[i]))
            return fault_set(fault, "%s is both input and output", path);
    if (S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0)
        return fault_set(fault, "cannot empty %s: %s", path, strerror(errno));
    *ret = TAKE_FD(fd);
    return 0;
}

int output_open(struct output *output, const char *path, bool force, const char *const *inputs,
                size_t n, struct fault *fault)
{
    int fd = STDOUT_FILENO;
    if (path && strcmp(path, "-") != 0) {
        int r = open_file(path, force, inputs, n, &fd, fault);
        if (r < 0)
            return r;
    }
    struct stat st;
    *output = (struct output){
        .fd = fd,
        .regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode),
        .buffer = evbuffer_new(),
    };
    if (!output->buffer)
        return fault_set(fault, "out of memory");
    return 0;
}

void output_close(struct output *output)
{
    if (output->fd != STDOUT_FILENO)
        close_fd(output->fd);
    if (output->buffer)
        evbuffer_free(output->buffer);
    *output = (struct output)OUTPUT_NULL;
}

int output_line(struct output *output, const char *text, size_t n)
{
    if (evbuffer_add(output->buffer, text, n) < 0 || evbuffer_add(output->buffer, "\n", 1) < 0)
        return -ENOMEM;
    return 0;
}

size_t output_unwritten(const struct output *output)
{
    return evbuffer_get_length(output->buffer);
}

/* The descriptor is shared with whoever started us, so it is not made non-blocking: where poll
 * says that a pipe is writable it takes PIPE_BUF bytes without waiting. */
static bool takes_more(const struct output *output)
{
    struct pollfd writable = {.fd = output->fd, .events = POLLOUT};
    return output->regular || (poll(&writable, 1, 0) == 1 && writable.revents != 0);
}

int output_flush(struct output *output)
{
    ssize_t most = output->regular ? -1 : PIPE_BUF;
    while (output_unwritten(output) > 0 && takes_more(output)) {
        int n = evbuffer_write_atmost(output->buffer, output->fd, most);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
    }
    return 0;
}
