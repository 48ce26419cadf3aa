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
    const char *at = strchr(line, ':');
    if (!at)
        return false;
    at += strncmp(at, ": ->", 4) == 0 ? 4 : 1;
    for (int i = 0; i < 3; i++) { /* its sort, whether it binds, and what for */
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    return strtol(at, NULL, 10) > 0;
}

static bool are_many(int proc)
{
    size_t count = 0;
    char line[256], buffer[4096]; /* the kernel fills no larger one at once */
    int fd = openat(proc, "locks", O_RDONLY | O_CLOEXEC);
    FILE *locks = fd < 0 ? NULL : fdopen(fd, "r");
    if (!locks) {
        close_fd(fd);
        return false;
    }
    (void)setvbuf(locks, buffer, _IOFBF, sizeof(buffer));
    while (count <= TREE_LOCKS_MAX && fgets(line, sizeof(line), locks))
        count += is_of_process(line);
    (void)fclose(locks);
    return count > TREE_LOCKS_MAX;
}

int tree_locks_look(struct tree_locks *locks, int proc)
{
    uint64_t now_ns = clock_now_ns(), wait_ns = TREE_LOCKS_MS * NS_PER_MS;
    if (!locks->is_bounded || locks->is_exceeded)
        return -1;
    if (locks->next_ns != 0 && now_ns >= locks->next_ns) {
        locks->is_exceeded = are_many(proc);
        wait_ns = MAX(wait_ns, (clock_now_ns() - now_ns) * TREE_LOCKS_SHARE);
    } else if (locks->next_ns != 0) {
        return (int)((locks->next_ns - now_ns) / NS_PER_MS) + 1;
    }
    locks->next_ns = clock_now_ns() + wait_ns;
    return (int)(wait_ns / NS_PER_MS);
}
