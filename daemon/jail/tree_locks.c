/* SPDX-License-Identifier: MIT */
#include "tree_locks.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a process that can be seen holds the lock that LINE tells of:
 * "1: POSIX  ADVISORY  READ 18325 00:06:3 2 2", or "1: -> POSIX ..." if it waits. */
static bool is_of_process(const char *line)
{
    long pid = 0;
    const char *lock = strchr(line, ':');
    if (!lock)
        return false;
    lock += strncmp(lock, ": ->", 4) == 0 ? 4 : 1;
    return sscanf(lock, "%*s %*s %*s %ld", &pid) == 1 && pid > 0;
}

static bool are_many(int proc)
{
    size_t count = 0;
    char line[256];
    int fd = openat(proc, "locks", O_RDONLY | O_CLOEXEC);
    FILE *locks = fd < 0 ? NULL : fdopen(fd, "r");
    if (!locks)
        close_fd(fd);
    while (locks && count <= TREE_LOCKS_MAX && fgets(line, sizeof(line), locks))
        count += is_of_process(line);
    if (locks)
        (void)fclose(locks);
    return count > TREE_LOCKS_MAX;
}

int tree_locks_look(struct tree_locks *locks, int proc)
{
    uint64_t now_ns = clock_now_ns();
    if (!locks->is_bounded || locks->is_exceeded)
        return -1;
    if (locks->looked_ns == 0)
        locks->looked_ns = now_ns;
    if (now_ns - locks->looked_ns >= TREE_LOCKS_MS * NS_PER_MS) {
        locks->is_exceeded = are_many(proc);
        locks->looked_ns = clock_now_ns();
    }
    return (int)TREE_LOCKS_MS;
}
