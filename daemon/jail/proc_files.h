/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads files and directories below an open /proc. */

#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
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

/* Returns the parent of PID, or -1 if PID is gone, as PROC shows it. The command name in
 * parentheses may contain anything, even ')'. */
static inline pid_t parent_of(int proc, const char *pid)
{
    char path[32], text[512];
    (void)snprintf(path, sizeof(path), "%.15s/stat", pid);
    _cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    const char *after_name = strrchr(text, ')');
    /* ") S 123 ...": state, then parent */
    if (!after_name || strlen(after_name) < 5)
        return -1;
    return (pid_t)strtol(after_name + 4, NULL, 10);
}
