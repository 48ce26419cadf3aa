/* SPDX-License-Identifier: MIT */
#pragma once
/* For tests that count or remove files and descriptors, or wait until files are no longer new. */

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

static inline void wait_ms(int64_t ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};
    (void)nanosleep(&time, NULL);
}

/* Waits until the kernel gives new time stamps to files that change: until then those that are
 * there count as young (rubricdir/tree.h). */
static inline void let_age(void)
{
    wait_ms(60);
}

/* Returns the number of entries of the directory PATH, "." and ".." included; 0 if it cannot be
 * read. */
static inline size_t count_entries(const char *path)
{
    size_t count = 0;
    DIR *dir = opendir(path);
    while (dir && readdir(dir))
        count++;
    if (dir)
        (void)closedir(dir);
    return count;
}

/* Returns a number that grows by one with each open descriptor of this process. */
static inline size_t count_descriptors(void)
{
    size_t count = count_entries("/proc/self/fd");
    if (count == 0)
        abort(); /* otherwise a test could pass because the count failed */
    return count;
}

/* Returns whether the open directory DIR is empty; false if it cannot be read. */
static inline bool is_empty(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    size_t count = 0;
    while (stream && readdir(stream))
        count++;
    if (stream)
        (void)closedir(stream);
    return count == 2;
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (type == FTW_D || type == FTW_DNR)
        (void)chmod(path, 0700);
    return remove(path);
}

/* Removes PATH and everything beneath it, despite their modes. Follows no link. */
static inline void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
