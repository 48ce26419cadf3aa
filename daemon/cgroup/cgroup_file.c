/* SPDX-License-Identifier: MIT */
#include "cgroup_file.h"

#include "proto/util.h"

#include <fcntl.h>
#include <string.h>

int cgroup_file_read(int dir, const char *name, char *text, size_t size)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* The kernel generates the whole text at the first read, so one read gets all of it. */
    ssize_t n = read(fd, text, size - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    return (int)n;
}

int cgroup_file_write(int dir, const char *name, const char *text)
{
    _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, strlen(text));
    if (n < 0)
        return -errno;
    return (size_t)n == strlen(text) ? 0 : -EIO;
}

int cgroup_file_open_group(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int cgroup_file_read_all(int dir, const char *name, size_t max, char **ret)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    _cleanup_free_ char *text = malloc(max + 1);
    if (!text)
        return -ENOMEM;
    size_t length = 0;
    for (ssize_t n = 1; n > 0 && length < max; length += (size_t)n) {
        n = read(fd, text + length, max - length);
        if (n < 0)
            return -errno;
    }
    text[length] = '\0';
    *ret = TAKE_PTR(text);
    return 0;
}
