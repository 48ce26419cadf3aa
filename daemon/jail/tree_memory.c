/* SPDX-License-Identifier: MIT */
/* Theory of operation. What processes have resident is known at once, but counts a page that
 * several share for each of them. What each has in proportion takes the kernel a walk through its
 * memory. So the second is asked for only when the first exceeds the limit. */
#include "tree_memory.h"

#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void closedir_pointer(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

/* Reads FILE of the process with the name PID. Returns false if the process is gone. */
static bool read_of(int proc, const char *pid, const char *file, char *text, size_t size)
{
    char path[48];
    (void)snprintf(path, sizeof(path), "%.15s/%s", pid, file);
    _cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    text[MAX(n, (ssize_t)0)] = '\0';
    return n > 0;
}

static uint64_t resident(int proc, const char *pid)
{
    char text[128], *end;
    if (!read_of(proc, pid, "statm", text, sizeof(text)))
        return 0;
    (void)strtoull(text, &end, 10); /* "size resident ...", in pages */
    return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The line NAME of TEXT, "Pss:    123 kB", in bytes. */
static uint64_t line_of(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

static uint64_t in_proportion(int proc, const char *pid)
{
    char text[2048];
    if (!read_of(proc, pid, "smaps_rollup", text, sizeof(text)))
        return 0;
    return line_of(text, "\nPss:") + line_of(text, "\nSwapPss:");
}

static uint64_t sum(int proc, pid_t twin, uint64_t (*of)(int proc, const char *pid))
{
    uint64_t bytes = 0;
    int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(closedir_pointer) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        close_fd(fd);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 1 && pid != twin)
            bytes += of(proc, entry->d_name);
    }
    return bytes;
}

bool tree_memory_exceeds(int proc, pid_t twin, uint64_t bytes)
{
    return sum(proc, twin, resident) > bytes && sum(proc, twin, in_proportion) > bytes;
}
