/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads files and directories below an open /proc. */

#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static inline void closedir_pointer(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

/* Opens the directory PATH below AT. NULL with errno on failure. The caller closes it. */
static inline DIR *open_directory(int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        close_fd(fd);
    return dir;
}

/* Reads the start of the file PATH below AT into TEXT, of SIZE bytes with a NUL. Returns false if
 * there is nothing: the process may be gone. */
static inline bool read_text(int at, const char *path, char *text, size_t size)
{
    _cleanup_close_ int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    text[MAX(n, (ssize_t)0)] = '\0';
    return n > 0;
}
